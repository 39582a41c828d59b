"""Which of a dataset's files a pod stages: those that fit a pattern, and a node's part of the training shards."""

import difflib
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

from argosy.steps.base import expression
from argosy.steps.cache.entry import Entry
from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError, data_error
from argosy.steps.pins import PinnedSource

DIVIDED = "train-*.tar"
"""Files of this name, in any folder, are divided among nodes. Every node gets all others."""

NEAR = 3


def selected(source: PinnedSource, entries: Sequence[Entry]) -> Sequence[Entry]:
    """The files that a pattern of the source fits. Raises StepError (DATA) for a pattern that fits none."""
    if not source.only:
        return entries
    patterns = [(text, re.compile(expression(text), re.DOTALL)) for text in source.only]
    for text, pattern in patterns:
        if not any(pattern.fullmatch(entry.path) for entry in entries):
            raise data_error(f"{source.path}: no file fits {text!r}; {_near(text, entries)}")
    return [entry for entry in entries if any(pattern.fullmatch(entry.path) for _, pattern in patterns)]


def divided(entries: Sequence[Entry], part: str) -> Sequence[Entry]:
    """A node's part of the training shards, such as `0/4`, and all other files; everything for an empty part.

    Raises StepError: DATA for fewer shards than parts, USAGE for no such part.
    """
    if not part:
        return entries
    index, count = map(int, part.split("/"))
    if not index < count:
        raise StepError(ExitCode.USAGE, f"--part={part}: the parts of {count} are 0 to {count - 1}")
    shards = sorted(entry.path for entry in entries if _is_divided(entry))
    if len(shards) < count:
        raise data_error(f"the data has {len(shards)} training shards ({DIVIDED}) for {count} nodes; write as many")
    own = set(shards[len(shards) * index // count : len(shards) * (index + 1) // count])
    return [entry for entry in entries if entry.path in own or not _is_divided(entry)]


def _is_divided(entry: Entry) -> bool:
    return fnmatchcase(entry.path.rpartition("/")[2], DIVIDED)


def _near(text: str, entries: Sequence[Entry]) -> str:
    names = difflib.get_close_matches(text, [entry.path for entry in entries[:1000]], n=NEAR, cutoff=0)
    return f"it has {', '.join(names)}"
