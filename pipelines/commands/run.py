"""`argosy run`: a pipeline, or any Argo manifest within the runner's subset, on this machine."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from argosy.pipelines.commands import arguments

if TYPE_CHECKING:
    from argosy.pipelines.local.runner import LocalRuns, Submission
    from argosy.pipelines.local.store import RunFolder
    from argosy.pipelines.manifest import Json

REVISION = "revision"


def _values(_ctx: click.Context, _param: click.Parameter, given: Sequence[str]) -> dict[str, str]:
    """`NAME=VALUE` words as a dict."""
    values: dict[str, str] = {}
    for word in given:
        name, mark, value = word.partition("=")
        if not mark or not name:
            raise click.BadParameter(f"{word!r} is not NAME=VALUE; write -p epochs=3 for example.")
        if name in values:
            raise click.BadParameter(f"{name!r} is given twice; leave one.")
        values[name] = value
    return values


@click.command(epilog="Example: argosy run digits -p epochs=3")
@arguments.PIPELINE
@click.option(
    "-p", "--parameter", "values", multiple=True, metavar="NAME=VALUE", callback=_values,
    help="Give a workflow parameter a value; may be repeated.",
)  # fmt: skip
@click.option("--again", is_flag=True, help="Run once more what has been run already.")
@arguments.as_json("the result")
def run(pipeline: str, values: dict[str, str], again: bool, as_json: bool) -> int:
    """Run a pipeline on this machine.

    PIPELINE is a name (pipelines/NAME.py or NAME.py in the project), a Python file (FILE.py, or FILE.py:VARIABLE), a
    manifest (.yaml, .yml, .json), or - for a manifest on standard input. A Python file is compiled first; what runs is
    the manifest alone.

    The same manifest with the same values is one run: asked for again, it is shown and not run. The parameter
    "revision", where a manifest has it without a value, is the commit that is checked out; a pipeline of argosy's takes
    no other, since the files here are what runs. Without a commit, or with files that differ from it or are new,
    nothing says that two runs are the same, and each is a run of its own.

    Exit code: 0 the run succeeded, 1 it failed, 2 nothing was started, 3 a gate said no, 130 interrupted.
    """
    from argosy.pipelines.commands import place, source
    from argosy.pipelines.commands.execution import execute
    from argosy.pipelines.local.runner import LocalRuns

    runs = LocalRuns(place.project())
    found = source.find(pipeline)
    with found.blamed():
        submission = _submission(runs, found.manifest(), values, again=again)
    if found.is_python and (definition := found.definition.pipeline):
        from argosy.pipelines.commands.parameters import refuse_unfit

        refuse_unfit(definition, values)
    folder = runs.home.run(submission.name)
    if folder.exists:
        return _existing(folder, as_json=as_json)
    click.echo(f"run {submission.name}", err=as_json)
    if submission.left_out:
        click.echo(f"left out on one machine: {', '.join(submission.left_out)}", err=as_json)
    return execute(lambda observer: runs.start(submission, observer), folder, submission.document, as_json=as_json)


def _submission(runs: "LocalRuns", text: str, values: dict[str, str], *, again: bool) -> "Submission":
    """The named manifest with its values; another run of it where the one that exists may not be the same."""
    from argosy.pipelines.commands import place, revision

    submission = runs.prepare(text, values)
    completed = _encoded(values, submission.document)
    given = _revision(submission.document)
    if given == "" or (given is not None and _is_argosys(submission.document)):
        completed[REVISION] = revision.of_files(given, place.project())
        again = again or not revision.is_pinned(completed[REVISION])
    if completed != values:
        submission = runs.prepare(text, completed)
    is_taken = runs.home.run(submission.name).exists
    return runs.prepare(text, completed, again=True) if again and is_taken else submission


def _encoded(given: dict[str, str], document: "Json") -> dict[str, str]:
    """Values as argosy's steps read them, kept from Argo's substitution; any other workflow gets them as they are."""
    from argosy.steps import values

    if not _is_argosys(document):
        return dict(given)
    is_ready = {name for name, text in given.items() if text == "null" or text.startswith(values.MARK)}
    return {name: text if name in is_ready else values.encode(text) for name, text in given.items()}


def _is_argosys(document: "Json") -> bool:
    """Whether argosy made the manifest."""
    from argosy.pipelines.names import PIPELINE_LABEL

    return PIPELINE_LABEL in document["metadata"].get("labels", {})


def _revision(document: "Json") -> str | None:
    """The parameter's value; None where the manifest has no such parameter."""
    parameters = document["spec"].get("arguments", {}).get("parameters", [])
    return next((str(one.get("value") or "") for one in parameters if one["name"] == REVISION), None)


def _existing(folder: "RunFolder", *, as_json: bool) -> int:
    """Say that a run exists, show it, and end as it ended."""
    from argosy.pipelines.commands import place
    from argosy.pipelines.commands.execution import conclude

    found = place.opened(folder)
    if found.is_active:
        raise place.running(folder)
    click.echo(f"run {folder.name} exists, with the same manifest and values; --again makes another", err=as_json)
    return conclude(found, folder, as_json=as_json)
