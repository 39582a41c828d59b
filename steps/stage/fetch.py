"""Brings a dataset's files out of a DVC remote, hashing every byte on the way.

DVC itself does not compare what it downloads with its hash unless told to (`verify` in dvc_data's HashFileDB.add).
"""

import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from dvc.config import Config, ConfigError
from dvc.fs import ConfigError as StoreConfigError
from dvc.fs import RemoteMissingDepsError, get_cloud_fs
from dvc_data.hashfile.db import get_odb

from argosy.steps.errors import configuration_error, data_error
from argosy.steps.progress import Progress
from argosy.steps.stage import failures
from argosy.steps.stage.contents import File
from argosy.steps.stage.resolve import Dataset

CHUNK_BYTES = 1 << 20
NAMED_AT_MOST = 10
MD5 = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class Entry:
    """One file of a dataset."""

    path: str
    """Relative to the dataset's folder."""
    md5: str


class Remote:
    """The objects in a DVC remote."""

    def __init__(self, project: Path, name: str | None) -> None:
        """The remote of this name; None: the project's default. Raises StepError (CONFIGURATION)."""
        folder = project / ".dvc"
        if not folder.is_dir():
            raise configuration_error(f"{project}: is no DVC project; run `dvc init` there, or give another --project")
        try:
            config = Config(dvc_dir=str(folder))
            name = name or config["core"].get("remote")
            if not name:
                raise configuration_error(f"{folder / 'config'}: names no default remote; run `dvc remote add -d`")
            filesystem, options, path = get_cloud_fs(config, name=name)
            if options.get("version_aware") or options.get("worktree"):
                raise configuration_error(
                    f"DVC remote {name}: is version-aware, which argosy cannot read; name another"
                )
            store = filesystem(**options)
            self._objects = get_odb(store, store.join(path, "files", "md5"), hash_name="md5", **options)  # type: ignore[no-untyped-call] # DVC has no types
        except (ConfigError, StoreConfigError, RemoteMissingDepsError, ImportError) as error:
            raise configuration_error(f"DVC remote {name or ''}: {error}") from None
        self.name = name

    def entries(self, dataset: Dataset) -> list[Entry]:
        """The dataset's files. Raises StepError (DATA) when its list is missing, damaged or unsafe."""
        if not dataset.is_folder:
            return [Entry(PurePosixPath(dataset.path).name, dataset.hash)]
        listing = Entry(dataset.path, dataset.hash)
        self.require([listing])
        return _entries(dataset, b"".join(self.chunks(listing)))

    def require(self, entries: Sequence[Entry]) -> None:
        """Raises StepError (DATA) that names all entries whose objects the remote lacks."""
        unique = {entry.md5: entry for entry in entries}
        with failures.told(self.name):
            there = self._objects.fs.exists([self._objects.oid_to_path(md5) for md5 in unique])
        missing = [entry for entry, is_there in zip(unique.values(), there, strict=True) if not is_there]
        if missing:
            named = ", ".join(f"{entry.path} ({entry.md5})" for entry in missing[:NAMED_AT_MOST])
            more = f" and {len(missing) - NAMED_AT_MOST} more" if len(missing) > NAMED_AT_MOST else ""
            raise data_error(f"DVC remote {self.name} lacks {named}{more}; run `dvc push` where the data is")

    def size(self, entries: Sequence[Entry]) -> int:
        """Bytes of all entries."""
        with failures.told(self.name):
            return sum(self._objects.fs.size(self._objects.oid_to_path(entry.md5)) for entry in entries)

    def chunks(self, entry: Entry) -> Iterator[bytes]:
        """The bytes of an entry. Raises StepError (DATA) at their end when they are not what the hash says."""
        digest = hashlib.md5(usedforsecurity=False)
        where = self._objects.oid_to_path(entry.md5)
        with failures.told(self.name), self._objects.fs.open(where, "rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                digest.update(chunk)
                yield chunk
        if digest.hexdigest() != entry.md5.removesuffix(".dir"):
            raise data_error(
                f"{entry.path}: is damaged in DVC remote {self.name}: {where} has md5 {digest.hexdigest()}; "
                "remove that object and run `dvc push` where the data is whole"
            )


def fetch(remote: Remote, dataset: Dataset, target: Path) -> dict[str, File]:
    """Writes the dataset's files into an empty folder. What was written, by its path in there.

    Raises StepError: DATA when anything is missing or damaged, CONFIGURATION when the disk is too small for it.
    """
    entries = remote.entries(dataset)
    _refuse_collisions(dataset, entries, target)
    remote.require(entries)
    _require_space(target, dataset.bytes if dataset.bytes is not None else remote.size(entries))
    progress, started, size = Progress(len(entries)), time.monotonic(), 0
    written: dict[str, File] = {}
    for done, entry in enumerate(entries, start=1):
        written[entry.path] = file = File.staged(entry.md5, _write(target / entry.path, remote.chunks(entry)))
        size += file.bytes
        rate = size / 1e6 / max(time.monotonic() - started, 1e-3)
        progress.report(done, f"staged {done:,}/{len(entries):,} files, {rate:,.1f} MB/s")
    if dataset.bytes is not None and size != dataset.bytes:
        raise data_error(
            f"{dataset.path}: has {size} bytes and not {dataset.bytes} as DVC's file says; run `dvc commit`"
        )
    return written


def _write(path: Path, chunks: Iterator[bytes]) -> os.stat_result:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as file:
        for chunk in chunks:
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())
        return os.fstat(file.fileno())


def _require_space(folder: Path, need: int) -> None:
    free = shutil.disk_usage(folder).free
    if need > free:
        raise configuration_error(f"{folder.parent.parent}: needs {need} bytes and has {free} free; make room there")


def _entries(dataset: Dataset, listing: bytes) -> list[Entry]:
    """Reads DVC's list of a folder: JSON of `{"md5": ..., "relpath": ...}`."""
    try:
        entries = [Entry(fields["relpath"], fields["md5"]) for fields in json.loads(listing)]
    except (ValueError, TypeError, KeyError):
        raise data_error(f"{dataset.path}: object {dataset.hash} is no list of files; add the folder anew") from None
    seen: set[str] = set()
    for entry in entries:
        if not (_is_safe(entry.path) and _is_md5(entry.md5)):
            raise data_error(f"{dataset.path}: its list names {entry.path!r}, which is no path inside it; add it anew")
        if entry.path in seen:
            raise data_error(f"{dataset.path}: its list names {entry.path!r} twice; add the folder anew")
        seen.add(entry.path)
    for entry in entries:
        if inside := next((str(p) for p in PurePosixPath(entry.path).parents if str(p) in seen), None):
            raise data_error(f"{dataset.path}: its list has {inside!r} as a file and as a folder; add the folder anew")
    if dataset.files is not None and len(entries) != dataset.files:
        raise data_error(f"{dataset.path}: has {len(entries)} files and not {dataset.files} as DVC's file says")
    return entries


def _is_safe(path: Any) -> bool:  # noqa: ANN401 - whatever JSON held
    return isinstance(path, str) and "\0" not in path and all(part not in ("", ".", "..") for part in path.split("/"))


def _is_md5(text: Any) -> bool:  # noqa: ANN401 - whatever JSON held
    return isinstance(text, str) and MD5.fullmatch(text) is not None


def _refuse_collisions(dataset: Dataset, entries: Sequence[Entry], target: Path) -> None:
    """Names that differ in case alone would overwrite each other where the file system folds case, as macOS's does."""
    if not _folds_case(target):
        return
    folded: dict[str, str] = {}
    for entry in entries:
        other = folded.setdefault(entry.path.casefold(), entry.path)
        if other != entry.path:
            raise data_error(f"{dataset.path}: {other!r} and {entry.path!r} are one file on this file system")


def _folds_case(folder: Path) -> bool:
    return folder.with_name(folder.name.upper()).exists()
