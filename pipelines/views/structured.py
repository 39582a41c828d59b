"""A run as a JSON object, for scripts."""

from typing import Any

from argosy.pipelines.runs import Run, Step
from argosy.pipelines.views.answers import found

Json = dict[str, Any]

RECORD = "record"
"""Output of argosy's own steps that repeats all others."""


def brief(run: Run) -> Json:
    """A run in a list of runs."""
    return {
        "name": run.name,
        "phase": run.phase,
        "message": run.message,
        "startedAt": run.started_at or None,
        "finishedAt": run.finished_at or None,
        "seconds": run.seconds,
    }


def whole(run: Run) -> Json:
    """A run with its steps and what they found out."""
    kinds = {"dataset": "datasets", "training": "trainings", "gate": "gates", "model": "models"}
    return {
        **brief(run),
        "parameters": run.parameters,
        "steps": [_step(step) for step in run.leaves()],
        **{plural: found(run, kind) for kind, plural in kinds.items()},
    }


def _step(step: Step) -> Json:
    pod = step.pod
    return {
        "name": step.name,
        "node": pod.id,
        "phase": step.phase,
        "message": step.reason,
        "attempts": len(step.children) if step.is_retry else 1,
        "exitCode": pod.outputs.exit_code if pod.outputs else None,
        "seconds": step.seconds,
        "outputs": {name: text for name, text in step.outputs.items() if name != RECORD},
    }
