"""What the shell offers when the user presses the tab key."""

from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from argosy.pipelines.commands import place

if TYPE_CHECKING:
    from collections.abc import Iterable


def pipelines(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """The project's pipelines; files once the word can be no name of one."""
    from argosy.pipelines.commands.source import available

    return _items(available(), begun) or [CompletionItem(begun, type="file")]


def runs(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    return _items((run.name for run in place.home().runs()), begun)


def steps(ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """The steps of the run that was named."""
    from argosy.pipelines.commands.mistake import Mistake
    from argosy.pipelines.local.store import DamagedError

    try:
        run = place.opened(place.chosen(ctx.params.get("run")))
    except (Mistake, DamagedError):
        return []
    return _items(run.names(), begun)


def _items(words: "Iterable[str]", begun: str) -> list[CompletionItem]:
    return [CompletionItem(word) for word in words if word.startswith(begun)]
