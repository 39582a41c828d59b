"""Prints the logs of the pods of a run on this machine, those that are and those that come."""

import codecs
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from argosy.pipelines.commands import place
from argosy.pipelines.commands.logfiles import LogFiles
from argosy.pipelines.commands.printing import print_line, selected
from argosy.pipelines.views.words import SIGNS

if TYPE_CHECKING:
    from argosy.pipelines.local.store import RunFolder

POLL_SECONDS = 0.2
BLOCK_BYTES = 1 << 20


class LocalPrinter:
    """Prints each line once, after the name of its step where there is more than one."""

    def __init__(self, folder: "RunFolder", step: str | None) -> None:
        """`step`: a name or a node's identifier; None for all. Raises Mistake."""
        self._folder = folder
        self._files = LogFiles(folder)
        self._wanted = step
        self._run = place.opened(folder)
        self._pods = selected(self._run, self._wanted)
        self._tails: dict[str, _Tail] = {}

    def print_all(self) -> None:
        """Print what there is, and for each pod that has printed nothing why."""
        self._print_new()
        self._end()

    def follow(self) -> None:
        """Print until the run has ended."""
        known = self._folders()
        while self._folder.runner() is not None:
            self._print_new()
            # The standard library cannot wait for a file that another program writes to.
            time.sleep(POLL_SECONDS)
            if (now := self._folders()) != known:
                known = now
                self._refresh()
        self._refresh()
        self._print_new()
        self._end()
        click.echo(f"run {self._run.name}: {SIGNS[self._run.phase][1]}", err=True)

    def _refresh(self) -> None:
        self._run = place.opened(self._folder)
        self._pods = selected(self._run, self._wanted)

    def _print_new(self) -> None:
        for identifier, (label, step) in self._pods.items():
            tail = self._tails.setdefault(identifier, _Tail(self._files.path(step.pod)))
            for line in tail.lines():
                self._print(label, line)

    def _end(self) -> None:
        for identifier, (label, step) in self._pods.items():
            if rest := self._tails[identifier].rest():
                self._print(label, rest)
            if absence := self._files.absence(step):
                click.echo(f"{label}: {absence}")

    def _print(self, label: str, line: str) -> None:
        print_line(label, line, is_labelled=self._is_labelled)

    @property
    def _is_labelled(self) -> bool:
        return self._wanted is None or len(self._pods) > 1

    def _folders(self) -> set[str]:
        return {path.name for path in self._folder.pods.iterdir()} if self._folder.pods.is_dir() else set()


class _Tail:
    """A file that grows, as whole lines."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._begun = ""

    def lines(self) -> Iterator[str]:
        """The lines that were finished since."""
        try:
            file = self._path.open("rb")
        except FileNotFoundError:
            return
        with file:
            file.seek(self._position)
            while block := file.read(BLOCK_BYTES):
                self._position += len(block)
                *finished, self._begun = (self._begun + self._decoder.decode(block)).split("\n")
                yield from finished

    def rest(self) -> str:
        """The last line, if nothing ended it."""
        return self._begun
