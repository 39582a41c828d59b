"""`argosy run`: a pipeline, or any Argo manifest within the runner's subset, on this machine."""

from typing import TYPE_CHECKING

import click

from argosy.pipelines.commands import arguments

if TYPE_CHECKING:
    from argosy.pipelines.commands.source import Source
    from argosy.pipelines.local.runner import LocalRuns, Submission
    from argosy.pipelines.local.store import RunFolder


@click.command(epilog="Example: argosy run digits -p epochs=3")
@arguments.PIPELINE
@arguments.VALUES
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

    A pipeline's data is looked up in git and DVC and written into the parameter "dataset-pin", unless that is given.
    Data that no step could stage, since it was never pushed for one, is refused.

    Where a person must decide, the command ends, and `argosy resume` goes on.

    Exit code: 0 the run succeeded, 1 it failed, 2 nothing was started, 3 a gate said no, 4 it waits for a person,
    130 interrupted.
    """
    from argosy.pipelines.commands import place, source
    from argosy.pipelines.commands.anywhere import LocalRun
    from argosy.pipelines.commands.execution import execute
    from argosy.pipelines.local.runner import LocalRuns

    runs = LocalRuns(place.project())
    found = source.find(pipeline)
    with found.blamed():
        submission = _submission(runs, found, values, again=again)
    folder = runs.home.run(submission.name)
    if folder.exists:
        return _existing(folder, as_json=as_json)
    click.echo(f"run {submission.name}", err=as_json)
    if submission.left_out:
        click.echo(f"left out on one machine: {', '.join(submission.left_out)}", err=as_json)
    here = LocalRun(folder)
    return execute(lambda observer: runs.start(submission, observer), here, submission.document, as_json=as_json)


def _submission(runs: "LocalRuns", found: "Source", values: dict[str, str], *, again: bool) -> "Submission":
    """The named manifest with its values; another run of it where the one that exists may not be the same."""
    from argosy.pipelines.commands import pinning, place, revision
    from argosy.pipelines.commands.submission import REVISION, encoded, needs_revision, refuse_unfit, revision_of
    from argosy.pipelines.identity import set_values

    text = found.manifest()
    submission = runs.prepare(text, values)
    completed = encoded(values, submission.document)
    if needs_revision(submission.document):
        completed[REVISION] = revision.of_files(revision_of(submission.document) or "", place.project())
        again = again or not revision.is_pinned(completed[REVISION])
    refuse_unfit(found, values)
    set_values(submission.document, completed)
    completed |= pinning.pinned(submission.document, place.project())
    if completed != values:
        submission = runs.prepare(text, completed)
    is_taken = runs.home.run(submission.name).exists
    return runs.prepare(text, completed, again=True) if again and is_taken else submission


def _existing(folder: "RunFolder", *, as_json: bool) -> int:
    """Say that a run exists, show it, and end as it ended."""
    from argosy.pipelines.commands import place
    from argosy.pipelines.commands.anywhere import LocalRun
    from argosy.pipelines.commands.execution import conclude

    found = place.opened(folder)
    if found.is_active:
        raise place.running(folder)
    click.echo(f"run {folder.name} exists, with the same manifest and values; --again makes another", err=as_json)
    return conclude(found, LocalRun(folder), as_json=as_json)
