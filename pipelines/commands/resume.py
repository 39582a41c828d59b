"""`argosy resume`: go on with a run where it ended."""

from typing import TYPE_CHECKING

import click

from argosy.pipelines.commands import arguments

if TYPE_CHECKING:
    from argosy.pipelines.local.store import RunFolder


@click.command(epilog="Example: argosy resume digits-1a2b3c4d")
@arguments.RUN
@arguments.as_json("the result")
def resume(run: str | None, as_json: bool) -> int:
    """Go on with a run that was interrupted or failed.

    What has succeeded is not run again. Without RUN it is the newest that has not succeeded and is not running.

    Exit code: as of `argosy run`.
    """
    from argosy.pipelines.commands import place
    from argosy.pipelines.commands.execution import execute
    from argosy.pipelines.local.runner import LocalRuns
    from argosy.pipelines.status import SUCCEEDED

    def fits(one: "RunFolder") -> bool:
        found = place.opened(one)
        return not found.is_active and found.phase != SUCCEEDED

    candidates = place.home().runs()
    active = next((one for one in candidates if one.runner() is not None), None)
    if run is None and active and not any(map(fits, candidates)):
        raise place.running(active)
    folder = place.chosen(run, fits, "to resume")
    click.echo(f"resuming {folder.name}", err=as_json)
    runs = LocalRuns(place.project())
    return execute(lambda observer: runs.resume(folder, observer), folder, folder.workflow(), as_json=as_json)
