"""`argosy stop`: end a run, its pods first."""

import click

from argosy.pipelines.commands import arguments


@click.command(epilog="Example: argosy stop digits-1a2b3c4d")
@arguments.RUN
@arguments.as_json("the result")
def stop(run: str | None, as_json: bool) -> None:
    """Stop a run and its pods.

    Waits until the pods have ended and the run's exit handler has run. Without RUN it is the newest that is not over.
    """
    from argosy.pipelines.commands import place
    from argosy.pipelines.commands.execution import conclude
    from argosy.pipelines.local.runner import LocalRuns
    from argosy.pipelines.status import PENDING, RUNNING

    folder = place.chosen(run, lambda one: one.workflow()["status"]["phase"] in (PENDING, RUNNING), "to stop")
    click.echo(f"stopping {folder.name}", err=as_json)
    LocalRuns(place.project()).stop(folder)
    conclude(place.opened(folder), folder, as_json=as_json)
