"""The data of a run, pinned when it is submitted: `python -m argosy.steps resolve`, in a process of its own.

Whoever submits has git and the repository; a pod that is told what they say needs neither.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from argosy.pipelines.commands.mistake import Mistake

if TYPE_CHECKING:
    from argosy.pipelines.manifest import Json

DATASET = "dataset"
PIN = "dataset-pin"

NEEDED = "configobj"
"""A package of argosy[steps] without which no DVC file's remote is known."""


class UnpinnedError(Exception):
    """Why this machine cannot say what the data is."""


def pinned(document: "Json", project: Path) -> dict[str, str]:
    """The parameter that pins the run's data; nothing where it has a value, or the first pod must find one.

    Raises Mistake for data that no pod could stage.
    """
    from argosy.pipelines.commands.submission import REVISION, is_argosys, value_of

    dataset, revision, pin = (value_of(document, name) for name in (DATASET, REVISION, PIN))
    if not is_argosys(document) or dataset is None or revision is None or pin is None:
        return {}
    if not dataset:
        raise Mistake(f"parameter {DATASET!r}: is empty; give the path that dvc.lock or a .dvc file names")
    if pin:
        _refuse_another(pin, dataset, revision)
        return {}
    try:
        _require_knowledge(revision, project)
        return {PIN: _resolved(dataset, revision, project)}
    except UnpinnedError as reason:
        click.echo(f"the data was not looked at: {reason}; the first pod finds it", err=True)
        return {}


def _refuse_another(pin: str, dataset: str, revision: str) -> None:
    from pydantic import ValidationError

    from argosy.steps import values
    from argosy.steps.pins import Pin

    remedy = f"leave it out: it is found for this run, or take it from a run of the same; `-p {PIN}=` empties it"
    try:
        given = Pin.model_validate_json(str(values.decode(pin, str)))
    except ValidationError:
        raise Mistake(f"parameter {PIN!r}: is no pin as a run's parameters show it; {remedy}") from None
    for name, pinned, asked in (("dataset", given.dataset, dataset), ("revision", given.revision, revision)):
        if pinned != values.decode(asked, str):
            raise Mistake(f"parameter {PIN!r}: is of {name} {pinned!r} and not {asked!r}; {remedy}")


def _require_knowledge(revision: str, project: Path) -> None:
    """Raises UnpinnedError."""
    from argosy.pipelines.commands import revision as revisions

    if find_spec(NEEDED) is None:
        raise UnpinnedError("argosy[steps] is not installed here")
    if revisions.is_pinned(revision) and not revisions.is_known(revision, project):
        raise UnpinnedError(f"commit {revision[:12]} is not known here")


def _resolved(dataset: str, revision: str, project: Path) -> str:
    """The parameter's value. Raises Mistake with the step's own words, UnpinnedError where the step broke."""
    from argosy.pipelines.commands import stepping
    from argosy.steps import values
    from argosy.steps.contracts import Step

    asked = {name: values.decode(text, str) for name, text in ((DATASET, dataset), ("revision", revision))}
    try:
        found = stepping.outputs(
            Step.RESOLVE, {**asked, "project": str(project)}, "looking whether the remote has the data", is_told=True
        )
    except stepping.StepBrokenError as error:
        raise UnpinnedError(str(error)) from None
    if unverified := found["unverified"]:
        click.echo(f"whether the remote has the data was not looked at: {unverified}", err=True)
    return values.encode(found["dataset_pin"])
