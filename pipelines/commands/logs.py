"""`argosy logs`: what the pods of a run printed."""

import click

from argosy.pipelines.commands import arguments


@click.command(epilog="Example: argosy logs digits-1a2b3c4d train --follow")
@arguments.RUN
@arguments.STEP
@click.option("-f", "--follow", is_flag=True, help="Go on until the run has ended.")
def logs(run: str | None, step: str | None, follow: bool) -> None:
    """Print what the steps of a run printed.

    Of several steps, each line begins with the name of its step. STEP is a step's name or the identifier of its node; a
    DAG or a loop stands for all that is in it. Without RUN it is the newest run; a single word that names no run is a
    step of the newest.
    """
    from argosy.pipelines.commands import place
    from argosy.pipelines.commands.printing import Printer

    if run and not step and all(run != one.name for one in place.home().runs()):
        run, step = None, run
    printer = Printer(place.chosen(run), step)
    if follow:
        printer.follow()
    else:
        printer.print_all()
