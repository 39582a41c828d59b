"""Makes a cache smaller when somebody says so."""

from argosy.steps.cache import locks, trash
from argosy.steps.cache.blobs import Blobs
from argosy.steps.cache.eviction import Eviction
from argosy.steps.cache.layout import Layout
from argosy.steps.cache.space import UNLIMITED, Space
from argosy.steps.errors import configuration_error


def prune(layout: Layout, blobs: Blobs, to_bytes: int) -> tuple[Space, Space]:
    """Evicts what nobody uses until no more than so many bytes are there; what it freed, and what is left.

    Raises StepError (CONFIGURATION) where locks do not work, and nobody can tell what is in use.
    """
    for folder in layout.folders:  # whatever copied this cache may have left out the empty ones
        folder.mkdir(exist_ok=True)
    if not locks.work(layout.locks):
        raise configuration_error(f"{layout.root}: locks do not work there; remove it when no pod uses it")
    trash.sweep(layout, blobs, locks_work=True)
    with locks.exclusive(layout.locks / "evict", "makes room in the cache"):
        eviction = Eviction(layout, blobs)
        before = eviction.used
        eviction.shrink(Space(to_bytes, UNLIMITED.files))
        return before - eviction.used, eviction.used
