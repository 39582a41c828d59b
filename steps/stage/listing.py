"""The files of a dataset as DVC lists them, checked before anything is made of them."""

import gc
import json
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from argosy.steps import files
from argosy.steps.cache.entry import Entry
from argosy.steps.errors import StepError, data_error
from argosy.steps.pins import PinnedSource
from argosy.steps.stage import reading
from argosy.steps.stage.pace import ATTEMPTS
from argosy.steps.stage.store import Store

MANY_FILES = 50_000
OBJECT_SECONDS = 0.0005
"""What each small object costs of one core, however small it is (benchmarks/staging.py, 10,000 x 20 kB)."""
NAMED_AT_MOST = 3

_MD5 = re.compile(r"[0-9a-f]{32}")


def entries(store: Store, source: PinnedSource, *, attempts: int = ATTEMPTS) -> list[Entry]:
    """The dataset's files, its list fetched from the store with no more attempts than these.

    Raises StepError: DATA when the list is missing, damaged or unsafe, and what `reading.whole` raises.
    """
    if source.file:
        return [Entry(source.file, source.hash)]
    return parsed(source, reading.whole(store, source.path, source.hash, attempts))


def parsed(source: PinnedSource, listing: bytes | memoryview) -> list[Entry]:
    """Reads DVC's list of a folder: JSON of `{"md5": ..., "relpath": ...}`. Raises StepError (DATA)."""
    with _no_collection():
        try:
            rows = json.loads(bytes(listing))
            paths, md5s = [row["relpath"] for row in rows], [row["md5"] for row in rows]
        except (ValueError, TypeError, KeyError, RecursionError):
            raise _unsound(source, f"object {source.hash} is no list of files") from None
        if fault := _fault(paths, md5s):
            raise _unsound(source, f"its list {fault}")
        if source.files is not None and len(paths) != source.files:
            count = f"has {len(paths):,} files and not {source.files:,} as DVC's file says"
            raise data_error(f"{source.path}: {count}; run `dvc commit` there, commit what it writes, and push")
        return list(map(Entry, paths, md5s))


@contextmanager
def _no_collection() -> Iterator[None]:
    """Without cyclic garbage collection, which takes a third of the time of 100,000 rows, and finds nothing."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _unsound(source: PinnedSource, what: str) -> StepError:
    return data_error(f"{source.path}: {what}; add the folder anew with `dvc add`, and push")


def _fault(paths: Sequence[str], md5s: Sequence[str]) -> str:
    """What is wrong with a list; empty: nothing."""
    try:
        if not all(map(_MD5.fullmatch, md5s)):
            return f"has {next(md5 for md5 in md5s if not _MD5.fullmatch(md5))!r} as an md5"
        if _is_unsafe(*paths):
            return f"names {next(filter(_is_unsafe, paths))!r}, which is no path inside it"
    except TypeError:
        return "has something else than texts"
    known = set(paths)
    if len(known) < len(paths):
        return f"names {Counter(paths).most_common(1)[0][0]!r} twice"
    if both := known & _folders(paths):
        return f"has {min(both)!r} as a file and as a folder"
    return ""


def _is_unsafe(*paths: str) -> bool:
    """Whether one has an empty part, as absolute ones do, a `.` or `..`, a NUL, or what no file name can hold."""
    text = "/\n/".join(("", *paths, ""))
    try:
        text.encode(sys.getfilesystemencoding(), sys.getfilesystemencodeerrors())
    except UnicodeEncodeError:
        return True
    return any(part in text for part in ("//", "/./", "/../", "\0"))


def _folders(paths: Collection[str]) -> set[str]:
    found: set[str] = set()
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in found:
            found.add(folder)
            folder = folder.rpartition("/")[0]
    return found


def refuse_collisions(source: PinnedSource, entries: Sequence[Entry], folder: Path) -> None:
    """Raises StepError (DATA) for names that differ in case alone, where the folder's file system folds case."""
    if not _folds_case(folder):
        return
    for first, second in _twins(entries, str.casefold):
        raise data_error(f"{source.path}: {first!r} and {second!r} are one file on this file system; rename one")


def _folds_case(folder: Path) -> bool:
    probe = files.partial(folder)
    probe.mkdir()
    try:
        return probe.with_name(probe.name.upper()).exists()
    finally:
        probe.rmdir()


def warnings(source: PinnedSource, entries: Sequence[Entry]) -> list[str]:
    """What will work, and yet may be no good idea."""
    found = [
        f"{source.path}: {first!r} and {second!r} look the same: they are one name in Unicode's normal form"
        for first, second in _twins(entries, lambda path: unicodedata.normalize("NFC", path))[:NAMED_AT_MOST]
    ]
    if len(entries) > MANY_FILES:
        cost = f"each costs a request and about {OBJECT_SECONDS * 1000:g} ms of a core"
        total = f"{len(entries) * OBJECT_SECONDS:,.0f} s in all"
        found.append(f"{source.path}: {len(entries):,} files: {cost}, {total}; `argosy data pack` makes shards of them")
    return found


def _twins(entries: Sequence[Entry], seen: Callable[[str], str]) -> list[tuple[str, str]]:
    """Pairs of names that are one name as they are seen."""
    first: dict[str, str] = {}
    pairs = ((first.setdefault(seen(entry.path), entry.path), entry.path) for entry in entries)
    return [(one, other) for one, other in pairs if one != other]
