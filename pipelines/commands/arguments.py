"""What several commands take."""

from collections.abc import Callable
from typing import Any

import click

from argosy.pipelines.commands import completion

PIPELINE = click.argument("pipeline", shell_complete=completion.pipelines)
RUN = click.argument("run", required=False, shell_complete=completion.runs)
STEP = click.argument("step", required=False, shell_complete=completion.steps)


def as_json(what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option `--json`."""
    return click.option("--json", "as_json", is_flag=True, help=f"Print {what} as JSON.")
