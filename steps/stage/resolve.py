"""Datasets at a revision -> the pin: the hash that DVC's files record for each, and the remote that has its objects.

Reads git and YAML alone: `PATH.dvc`, and `dvc.lock` in the project's folder or any folder above the dataset. DVC's
other ways to record data (imports, version-aware remotes, its 2.x hashes) are refused by name.
"""

import difflib
import posixpath
from collections.abc import Iterator
from pathlib import Path

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError, data_error
from argosy.steps.pins import Pin, PinnedSource, sources
from argosy.steps.pins import Source as Asked
from argosy.steps.stage.records import Record, Records
from argosy.steps.stage.remotes import Remotes
from argosy.steps.stage.source import Source


def pinned(project: Path, dataset: str, revision: str) -> Pin:
    """The datasets that a text names, at a revision.

    Raises StepError with a line for each dataset that cannot be pinned: DATA when there is no such dataset, or its
    record is damaged or of an unknown kind, CONFIGURATION when its remote cannot be used, USAGE for a path that leads
    out of the project.
    """
    source = Source(project, revision)
    records, remotes = Records(source), Remotes(source)
    found, faults = [], []
    for asked in sources(dataset):
        try:
            found.append(_pinned(asked, _record(asked.path, records, revision), remotes))
        except StepError as error:
            faults.append(error)
    if faults:
        raise StepError(faults[0].exit_code, "\n".join(dict.fromkeys(fault.message for fault in faults)))
    return Pin(dataset=dataset, revision=revision, sources=tuple(found))


def _record(path: str, records: Records, revision: str) -> Record:
    path = _normal(path)
    for file in _candidates(path):
        for record in records.of(file):
            if record.path == path:
                return record
            if path.startswith(f"{record.path}/"):
                raise data_error(f"{path}: is a part of {record.path}, which {file} tracks whole; stage {record.path}")
    at = f" at {revision}" if revision else ""
    raise data_error(f"{path}: no DVC file{at} names it; {_known(records, path)}")


def _normal(path: str) -> str:
    normal = posixpath.normpath(path)
    if posixpath.isabs(normal) or normal == ".." or normal.startswith("../"):
        raise StepError(ExitCode.USAGE, f"--dataset={path}: must be a path inside the project, relative to it")
    return normal


def _candidates(path: str) -> Iterator[str]:
    folder = path
    while folder:
        yield f"{folder}.dvc"
        folder = posixpath.dirname(folder)
        yield posixpath.join(folder, "dvc.lock")


def _pinned(asked: Asked, record: Record, remotes: Remotes) -> PinnedSource:
    out, where = record.out, f"{record.file}: {record.path}"
    if record.imported_from:
        raise data_error(f"{where}: is imported from {record.imported_from}; stage it from that project")
    if out.files is not None or out.cloud is not None:
        raise data_error(f"{where}: is in a version-aware remote, which argosy cannot read; push it to another one")
    if not (out.push and out.cache):
        what = "push" if out.cache else "cache"
        raise data_error(f"{where}: has `{what}: false`, so no DVC remote has it; remove that, `dvc commit` and push")
    if out.md5 is None:
        raise data_error(
            f"{where}: has no hash; run `dvc commit` (an import: `dvc update`), push, commit {record.file}"
        )
    if out.hash != "md5":
        raise data_error(
            f"{where}: has a hash of DVC 2 (md5-dos2unix); run `dvc cache migrate --dvc-files`, push, commit"
        )
    return PinnedSource(
        path=record.path,
        name=asked.name,
        only=asked.only,
        hash=out.md5,
        files=out.nfiles if out.md5.endswith(".dir") else 1,
        bytes=out.size,
        remote=remotes.remote(out.remote),
    )


def _known(records: Records, path: str) -> str:
    """The datasets there are, nearest name first."""
    known = sorted({record.path for record in records.all()})
    if not known:
        return "it names no dataset at all: run `dvc add` or `dvc repro`, and commit what they write"
    known.sort(key=lambda name: difflib.SequenceMatcher(None, name, path).ratio(), reverse=True)
    return f"known are {', '.join(known)}"
