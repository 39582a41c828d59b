"""What is in a cache."""

from contextlib import suppress
from dataclasses import dataclass

from argosy.steps.cache import locks
from argosy.steps.cache.layout import Layout
from argosy.steps.cache.view import views
from argosy.steps.errors import StepError


@dataclass(frozen=True, slots=True)
class Line:
    """A view, as `ls` tells of it."""

    key: str
    dataset: str
    files: int
    bytes: int
    used_at: float
    """Seconds since 1970."""
    is_held: bool
    """Whether a pod holds a lease on it, and it cannot be evicted."""


def lines(layout: Layout) -> list[Line]:
    """Every view that can be read, what was used last first."""
    found = []
    for view in views(layout):
        with suppress(StepError, FileNotFoundError):  # doctor tells of it; or evicted just now
            version = view.version()
            held = locks.is_held(view.lock)
            found.append(
                Line(view.folder.name, version.dataset, version.files, version.bytes, view.used_at, is_held=held)
            )
    return sorted(found, key=lambda line: -line.used_at)
