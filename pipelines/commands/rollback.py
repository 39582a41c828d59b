"""`argosy rollback`: an alias goes back to the version before."""

import click

from argosy.pipelines.commands import arguments


@click.command(epilog="Example: argosy rollback digits")
@click.argument("model")
@click.option("--alias", default="champion", show_default=True, help="Alias that moves.")
@click.option(
    "--to", "version", type=click.IntRange(min=1), help="Version that it moves to; without it, the one before."
)
@arguments.TRACKING_URI
@arguments.as_json("the result")
def rollback(model: str, alias: str, *, version: int | None, tracking_uri: str | None, as_json: bool) -> None:
    """Move an alias back to the version that held it before.

    A version whose gates did not let it pass never gets the alias.

    Exit code: 0 the alias has moved, 2 nothing was changed.
    """
    from argosy.pipelines.commands import registered, stepping
    from argosy.pipelines.commands.mistake import Mistake
    from argosy.pipelines.commands.output import print_json
    from argosy.steps.contracts import Step

    if not registered.NAME.fullmatch(model):
        raise Mistake(f"{model!r} names no registered model; write its name alone, such as digits")
    fields = {**registered.registry(model, tracking_uri), "alias": alias, "version": version or 0}
    try:
        done = stepping.outputs(Step.ROLLBACK, fields, "asking MLflow")
    except stepping.StepBrokenError as error:
        raise Mistake(f"{model}: {error}") from None
    if as_json:
        print_json({"model": model, "alias": alias, "version": done["version"], "left": done["left"] or None})
    else:
        click.echo(done["summary"])
