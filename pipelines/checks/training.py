"""Training: what the project has to say to it, and what its last run here has."""

from collections.abc import Iterator
from pathlib import Path

from argosy.pipelines.checks.project import training_templates
from argosy.pipelines.checks.view import View
from argosy.pipelines.errors import Problem
from argosy.pipelines.local.store import DamagedError, Home
from argosy.pipelines.names import PIPELINE_LABEL
from argosy.pipelines.started import option_of
from argosy.steps.contracts import option

MARGIN = 2.0
"""A save may begin while the one before is under way, and takes as long again."""

SAVE_SECONDS = option("save_seconds")


def scripts(view: View, project: Path) -> Iterator[Problem]:
    """The training script is there."""
    for template in training_templates(view):
        script = option_of(template["container"], "script")
        if script and not (project / script).is_file():
            yield Problem(script, f"there is no such script in {project}", "give its path relative to the project")


def graces(view: View, project: Path) -> Iterator[Problem]:
    """A last checkpoint fits between SIGTERM and SIGKILL, as far as the pipeline's last run here tells."""
    given = [option_of(template["container"], "grace-seconds") for template in training_templates(view)]
    graces = [float(grace) for grace in given if grace is not None]
    measured = _measured(str((view.metadata.get("labels") or {}).get(PIPELINE_LABEL, "")), project) if graces else None
    if measured is None:
        return
    run, seconds = measured
    for grace in graces:
        if grace < seconds:
            what = f"{grace:g} s are less than a checkpoint took in run {run}: {seconds:.1f} s"
            yield Problem("training.grace", what, f"set grace to {-(-MARGIN * seconds // 1):.0f}s or more")


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
