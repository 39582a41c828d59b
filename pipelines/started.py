"""What a container of a manifest starts of argosy's; a training, also by way of the Job that another one makes."""

import json
from collections.abc import Iterator

from argosy.pipelines.manifest import Json
from argosy.steps import values
from argosy.steps.contracts import Step

COMMAND = ("python", "-m", "argosy.steps")


def trainings(container: Json) -> Iterator[Json]:
    """The containers that train, as Kubernetes has them."""
    if starts(container, Step.TRAIN):
        yield container
    elif job := job_of(container):
        yield from (one for one in job["spec"]["template"]["spec"]["containers"] if starts(one, Step.TRAIN))


def job_of(container: Json) -> Json | None:
    """The Job that a container makes."""
    if not starts(container, Step.GANG):
        return None
    text = option_of(container, "job") or ""
    try:
        job: Json = json.loads(str(values.decode(text, str)))
        job["spec"]["template"]["spec"]["containers"]
    except (ValueError, LookupError, TypeError):  # somebody's own, which the step will refuse
        return None
    return job


def starts(container: Json, step: Step) -> bool:
    """Whether a container runs this step of argosy's."""
    return container.get("command") == list(COMMAND) and (container.get("args") or [""])[0] == step


def option_of(container: Json, name: str) -> str | None:
    """The text of an argument `--NAME=TEXT`."""
    prefix = f"--{name}="
    return next((word.removeprefix(prefix) for word in container.get("args") or [] if word.startswith(prefix)), None)
