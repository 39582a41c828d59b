"""`argosy submit`: a pipeline, or any Argo manifest, on a cluster."""

from typing import TYPE_CHECKING

import click

from argosy.pipelines.commands import arguments

if TYPE_CHECKING:
    from argosy.pipelines.commands.anywhere import ClusterRun
    from argosy.pipelines.commands.source import Source
    from argosy.pipelines.manifest import Json


@click.command(cls=arguments.OnCluster, epilog="Example: argosy submit digits -p epochs=3 --watch")
@arguments.PIPELINE
@arguments.VALUES
@arguments.cluster("The cluster")
@click.option("--again", is_flag=True, help="Run once more what has been run already.")
@click.option("--watch", "is_watched", is_flag=True, help="Follow the run to its end, as `argosy watch` does.")
@arguments.as_json("the run")
def submit(
    pipeline: str, *, values: dict[str, str], cluster: str | None, again: bool, is_watched: bool, as_json: bool
) -> int:
    """Run a pipeline on a cluster.

    PIPELINE is a name (pipelines/NAME.py or NAME.py in the project), a Python file (FILE.py, or FILE.py:VARIABLE), a
    manifest (.yaml, .yml, .json), or - for a manifest on standard input. A Python file is compiled first.

    The same manifest with the same values is one run: submitted again, it is shown. The parameter "revision" is a
    commit: the one that is checked out, unless a manifest is given one. Files that differ from it are refused, since no
    pod would see them.

    A pipeline's data is looked up in git and DVC and written into the parameter "dataset-pin", unless that is given.
    Data that no pod could stage, since it was never pushed for one, is refused.

    Exit code: 0 the run is there, 2 nothing was submitted; with --watch as of `argosy run`.
    """
    from argosy.pipelines.cluster.following import persistent
    from argosy.pipelines.cluster.submission import ASKED_FOR_SECONDS
    from argosy.pipelines.cluster.submission import submit as put
    from argosy.pipelines.commands import anywhere, pinning, place, source
    from argosy.pipelines.commands.watch import watched
    from argosy.pipelines.identity import run_name, set_values

    found = source.find(pipeline)
    with found.blamed():
        document = _completed(found, values)
        name = run_name(document)  # before the pin, which also says how this machine reaches the data
        set_values(document, pinning.pinned(document, place.project()))
    _warn_of_unpushed(document)
    server = anywhere.server(cluster)
    name, is_new = put(server, _signed(document), name, again=again)
    how = f"submitted to {server.connection}" if is_new else "exists, with the same manifest and values"
    remedy = "" if is_new else "; --again makes another"
    click.echo(f"run {name} {how}{remedy}", err=as_json)
    run = persistent(lambda: anywhere.ClusterRun.find(server, name), ASKED_FOR_SECONDS)
    return watched(run, as_json=as_json) if is_watched else _told(run, is_new=is_new, as_json=as_json)


def _completed(found: "Source", values: dict[str, str]) -> "Json":
    """The manifest with its values, but for the data's pin. Raises Mistake, RunError, ManifestError, Refusal."""
    from argosy.pipelines import manifest
    from argosy.pipelines.commands import place, revision
    from argosy.pipelines.commands.submission import (
        REVISION,
        encoded,
        fetches_code,
        image_of,
        needs_revision,
        refuse_unfit,
        revision_of,
    )
    from argosy.pipelines.identity import set_values
    from argosy.pipelines.images.lock import baked_revision

    document = manifest.read(found.manifest())
    set_values(document, values)
    completed = encoded(values, document)
    if needs_revision(document):
        given, project = revision_of(document) or "", place.project()
        commit = revision.of_cluster(given, project, is_compiled_here=found.is_python)
        baked = None if fetches_code(document) else baked_revision(image_of(document), project)
        completed[REVISION] = revision.of_image(baked, commit, project) if baked else commit
    refuse_unfit(found, values)
    set_values(document, completed)
    return document


def _warn_of_unpushed(document: "Json") -> None:
    """What was pushed from elsewhere, git does not know here: no reason to refuse."""
    from argosy.pipelines.commands import place, revision
    from argosy.pipelines.commands.submission import fetches_code, revision_of

    commit = revision_of(document)
    if commit and fetches_code(document) and not revision.is_pushed(commit, place.project()):
        click.echo(
            f"commit {commit[:12]} is on no remote's branch that is known here; pods fetch it: push it", err=True
        )


def _signed(document: "Json") -> "Json":
    """The manifest with what a person wants to know of where it comes from."""
    from argosy.pipelines.cluster.submission import BRANCH, COMMIT, SUBMITTED_BY, annotated
    from argosy.pipelines.commands import place, revision
    from argosy.pipelines.commands.submission import revision_of

    project = place.project()
    commit = revision_of(document) or revision.head(project)
    return annotated(
        document, {COMMIT: commit, BRANCH: revision.branch(project), SUBMITTED_BY: revision.author(project)}
    )


def _told(run: "ClusterRun", *, is_new: bool, as_json: bool) -> int:
    """Show the run as it is now."""
    from argosy.pipelines.commands.output import print_json
    from argosy.pipelines.views import structured
    from argosy.pipelines.views.run import next_commands

    told = run.view()
    if as_json:
        print_json({**structured.brief(told), "created": is_new, **run.address})
    else:
        click.echo("\n" + "\n".join(next_commands(run.commands(told))))
    return 0
