"""What several commands take."""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import click

from argosy.pipelines.commands import completion

PIPELINE = click.argument("pipeline", shell_complete=completion.pipelines)
RUN = click.argument("run", required=False, shell_complete=completion.runs)
CLUSTER_RUN = click.argument("run", required=False, shell_complete=completion.cluster_runs)
STEP = click.argument("step", required=False, shell_complete=completion.steps)

_CLUSTER = ("-c", "--cluster")
THE_ONLY_ONE = ""
"""`--cluster` without a name."""


def as_json(what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option `--json`."""
    return click.option("--json", "as_json", is_flag=True, help=f"Print {what} as JSON.")


class Finite(click.FloatRange):
    """A range of numbers, of which NaN is none, though it lies outside no bound."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 - click's
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is no finite number.", param, ctx)
        return number


def byte_count(_ctx: click.Context, _param: click.Parameter, given: str | None) -> int | None:
    """The bytes of an option such as `--to 100G`."""
    from argosy.pipelines import quantities

    try:
        return None if given is None else quantities.byte_count(quantities.space(given))
    except ValueError as error:
        raise click.BadParameter(f"{error}.") from None


def cluster(what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option `--cluster [NAME]`, for a command of the class `OnCluster`."""
    return click.option(
        *_CLUSTER, "cluster", metavar="[NAME]", is_flag=False, flag_value=THE_ONLY_ONE, help=f"{what}; NAME is one of "
        "[tool.argosy.clusters], where there are several.", shell_complete=completion.clusters,
    )  # fmt: skip


class OnCluster(click.Command):
    """A command whose `--cluster` may stand before another word: only a cluster's name is taken for its value."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(_told_apart(args)))


def _told_apart(words: Sequence[str]) -> Iterator[str]:
    for word, following in pairwise([*words, "--"]):
        is_option = following.startswith("-") and following != "-"  # which is a pipeline on standard input
        is_bare = word in _CLUSTER and not is_option and following not in _cluster_names()
        yield f"{_CLUSTER[1]}={THE_ONLY_ONE}" if is_bare else word


def _cluster_names() -> list[str]:
    from argosy.pipelines.cluster.profiles import profiles
    from argosy.pipelines.commands import place

    return list(profiles(place.project()))


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


VALUES = click.option(
    "-p", "--parameter", "values", multiple=True, metavar="NAME=VALUE", callback=_values,
    help="Give a workflow parameter a value; may be repeated.",
)  # fmt: skip

TRACKING_URI = click.option(
    "--tracking-uri", metavar="URI", help="MLflow; without it MLFLOW_TRACKING_URI, or that of the runs here."
)
