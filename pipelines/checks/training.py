"""Training: what the project has to say to it, and what its last run here has."""

from collections.abc import Iterator
from pathlib import Path

from argosy.pipelines.checks.view import View
from argosy.pipelines.errors import Problem
from argosy.pipelines.local.store import DamagedError, Home
from argosy.pipelines.manifest import Json
from argosy.pipelines.names import PIPELINE_LABEL
from argosy.pipelines.started import option_of, trainings
from argosy.steps.contracts import option

MARGIN = 2.0
"""A save may begin while the one before is under way, and takes as long again."""

SAVE_SECONDS = option("save_seconds")


def scripts(view: View, project: Path) -> Iterator[Problem]:
    """The training script is there."""
    for container in _trainings(view):
        script = option_of(container, "script")
        if script and not (project / script).is_file():
            yield Problem(script, f"there is no such script in {project}", "give its path relative to the project")


def graces(view: View, project: Path) -> Iterator[Problem]:
    """A last checkpoint fits between SIGTERM and SIGKILL, as far as the pipeline's last run here tells."""
    measured = _measured(str((view.metadata.get("labels") or {}).get(PIPELINE_LABEL, "")), project)
    for container in _trainings(view):
        grace = option_of(container, "grace-seconds")
        if measured is None or grace is None:
            continue
        run, seconds = measured
        if float(grace) < seconds:
            what = f"{float(grace):g} s are less than a checkpoint took in run {run}: {seconds:.1f} s"
            yield Problem("training.grace", what, f"set grace to {-(-MARGIN * seconds // 1):.0f}s or more")


def _trainings(view: View) -> Iterator[Json]:
    for template in view.templates:
        yield from trainings(template.get("container") or {})


def _measured(pipeline: str, project: Path) -> tuple[str, float] | None:
    """The newest run of a pipeline that tells how long a checkpoint took, and how long that was."""
    for run in Home(project / ".argosy").runs():
        try:
            workflow = run.workflow()
        except DamagedError:
            continue
        if (workflow["metadata"].get("labels") or {}).get(PIPELINE_LABEL) != pipeline:
            continue
        for node in (workflow["status"].get("nodes") or {}).values():
            for one in (node.get("outputs") or {}).get("parameters") or []:
                if one.get("name") == SAVE_SECONDS and one.get("value"):
                    return run.name, float(one["value"])
    return None
