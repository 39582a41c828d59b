"""`argosy reproduce`: a registered model, made again."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from argosy.pipelines.commands import arguments

if TYPE_CHECKING:
    from pathlib import Path

    from argosy.pipelines.commands.anywhere import OneRun
    from argosy.pipelines.comparison.answer import Reproduction
    from argosy.pipelines.manifest import Json
    from argosy.steps.pins import Pin
    from argosy.steps.registry import Recipe


@click.command(cls=arguments.OnCluster, epilog="Example: argosy reproduce models:/digits@champion")
@click.argument("model")
@click.option(
    "--tolerance",
    type=arguments.Finite(min=0),
    default=0.01,
    show_default=True,
    help="How far each gate's estimate may lie from the recorded one.",
)
@click.option("--here", is_flag=True, help="With this folder's code and data, in place of the recorded commit's.")
@arguments.cluster("Make it on a cluster")
@arguments.TRACKING_URI
@arguments.as_json("the verdict")
def reproduce(
    model: str, *, tolerance: float, here: bool, cluster: str | None, tracking_uri: str | None, as_json: bool
) -> int:
    """Make a registered model again, and compare the two.

    MODEL is models:/NAME@ALIAS or models:/NAME/VERSION. Its recorded commit is checked out beside the project, its data
    restored by hash, and its recorded manifest runs with its recorded parameters: up to the gates, without publishing,
    and without what compares with a champion.

    The verdict is "same bytes", "same within tolerance" (every gate that judges the model gives the same answer, with
    an estimate within the tolerance), or "different", with what differs. Times and memory decide nothing.

    Exit code: 0 the same, 1 different, 2 nothing was run, 130 interrupted.
    """
    from argosy.pipelines.commands import registered
    from argosy.pipelines.commands.execution import INTERRUPTED_CODE
    from argosy.pipelines.commands.mistake import Mistake
    from argosy.pipelines.comparison import again
    from argosy.pipelines.status import INTERRUPTED

    if here and cluster is not None:
        raise Mistake("--here takes the files of this folder, which a cluster does not see; leave out one of them")
    recipe = registered.recipe(model, tracking_uri)
    try:
        document = again.manifest(recipe)
    except again.NotAgainError as error:
        raise Mistake(f"{model}: {error}") from None
    run = (
        _on_cluster(document, recipe, cluster, as_json=as_json)
        if cluster is not None
        else _here(document, recipe, here=here, as_json=as_json)
    )
    if run.view().is_active or run.view().phase == INTERRUPTED:
        click.echo(f"interrupted; `argosy reproduce {model}` begins anew", err=True)
        return INTERRUPTED_CODE
    told = _judged(model, recipe, run, tolerance)
    _tell(model, told, run, as_json=as_json)
    return 1 if told.answer == "different" else 0


def _here(document: "Json", recipe: "Recipe", *, here: bool, as_json: bool) -> "OneRun":
    from argosy.pipelines.commands import pinning, place, revision
    from argosy.pipelines.commands.anywhere import LocalRun
    from argosy.pipelines.commands.execution import shown
    from argosy.pipelines.comparison import again
    from argosy.pipelines.compile import rendered
    from argosy.pipelines.identity import set_values
    from argosy.pipelines.local.runner import LocalRuns

    project = place.project()
    with _files(recipe, project, here=here) as code:
        commit = revision.head(project) if here else recipe.revision
        values = again.parameters(document, recipe, None if here else _reachable(recipe, project), commit)
        set_values(document, values)
        values |= pinning.pinned(document, project)
        runs = LocalRuns(project, code)
        text = rendered(document)
        submission = runs.prepare(text, values)
        if runs.home.run(submission.name).exists:
            submission = runs.prepare(text, values, again=True)
        click.echo(f"run {submission.name}, of {commit or 'files that no commit has'}", err=as_json)
        run = LocalRun(runs.home.run(submission.name))
        shown(lambda observer: runs.start(submission, observer), run, submission.document, is_aside=as_json)
    return run


@contextmanager
def _files(recipe: "Recipe", project: "Path", *, here: bool) -> "Iterator[Path]":
    """The code that runs. Raises Mistake."""
    from argosy.pipelines.commands import checkout, revision
    from argosy.pipelines.commands.mistake import Mistake

    if here:
        yield project
        return
    if not revision.is_pinned(recipe.revision):
        what = f"version {recipe.version} was made of files that no commit has ({recipe.revision or 'no commit'})"
        raise Mistake(f"{what}; --here takes the files of this folder instead")
    with checkout.of(recipe.revision, project) as folder:
        checkout.require(recipe.task.partition(":")[0], folder, recipe.revision, project)
        yield folder


def _reachable(recipe: "Recipe", project: "Path") -> "Pin | None":
    """The recorded data, a remote within the project being this project's: a commit's files alone have none."""
    from argosy.steps.pins import FOLDER, Pin

    if not recipe.dataset_pin:
        return None
    pin = Pin.model_validate_json(recipe.dataset_pin)
    sources = tuple(
        one
        if "://" in one.remote.url
        else one.model_copy(
            update={"remote": one.remote.model_copy(update={"url": f"{FOLDER}{project / one.remote.url}"})}
        )
        for one in pin.sources
    )
    return pin.model_copy(update={"sources": sources})


def _on_cluster(document: "Json", recipe: "Recipe", cluster: str, *, as_json: bool) -> "OneRun":
    from argosy.pipelines.cluster.following import persistent
    from argosy.pipelines.cluster.submission import ASKED_FOR_SECONDS, submit
    from argosy.pipelines.commands import anywhere, revision
    from argosy.pipelines.commands.mistake import Mistake
    from argosy.pipelines.commands.watch import followed
    from argosy.pipelines.comparison import again
    from argosy.pipelines.identity import run_name, set_values
    from argosy.steps.pins import Pin

    if recipe.revision.endswith(revision.DIRTY):
        what = f"version {recipe.version} was made of files that no commit has ({recipe.revision})"
        raise Mistake(f"{what}, and no pod would see them; leave out --cluster and give --here")
    pin = Pin.model_validate_json(recipe.dataset_pin) if recipe.dataset_pin else None
    set_values(document, again.parameters(document, recipe, pin, recipe.revision))
    server = anywhere.server(cluster)
    name, _ = submit(server, document, run_name(document), again=True)
    click.echo(f"run {name} submitted to {server.connection}", err=as_json)
    run = persistent(lambda: anywhere.ClusterRun.find(server, name), ASKED_FOR_SECONDS)
    if followed(run, is_aside=as_json) is not None:
        run.refresh()
    return run


def _judged(model: str, recipe: "Recipe", run: "OneRun", tolerance: float) -> "Reproduction":
    from argosy.pipelines.commands.diff import itemised
    from argosy.pipelines.comparison import answer, origin

    told = run.view()
    recorded, now = origin.of_recipe(model, recipe), origin.of_run(run.workflow(), told)
    failed = [] if told.is_verdict else told.failures()
    failure = f"{failed[0].name}: {failed[0].reason}" if failed else ""
    return answer.judged(recorded, now, itemised, tolerance, failure)


def _tell(model: str, told: "Reproduction", run: "OneRun", *, as_json: bool) -> None:
    from dataclasses import asdict

    from argosy.pipelines.commands.diff import lines
    from argosy.pipelines.commands.output import print_json

    name = run.view().name
    if as_json:
        print_json({"model": model, "run": name, **asdict(told), **run.address})
        return
    table = lines(list(told.differences), model, name)
    click.echo("\n".join(["", *table, "", f"{told.answer}: {told.reason}"]))
