"""A dataset's path at a revision -> the hash that DVC's files record for it.

Reads `dvc.lock` in the project's folder or any folder above the dataset, and `PATH.dvc`. DVC's other ways to record
data (imports, version-aware remotes, its 2.x hashes) are refused by name.
"""

import difflib
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from argosy.steps.contracts import ExitCode, Md5
from argosy.steps.errors import StepError, data_error
from argosy.steps.stage.source import Source


@dataclass(frozen=True)
class Dataset:
    """What DVC records about a dataset."""

    path: str
    """Relative to the project."""
    hash: str
    """DVC's md5, with `.dir` for a folder."""
    revision: str
    remote: str | None
    """The remote that this dataset alone uses; None: the default one."""
    bytes: int | None
    files: int | None

    @property
    def is_folder(self) -> bool:
        return self.hash.endswith(".dir")


class Fields(BaseModel):
    """A part of a DVC file: what is not named here is of no concern."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Out(Fields):
    path: str
    md5: Md5 | None = None
    hash: str | None = None
    size: int | None = None
    nfiles: int | None = None
    remote: str | None = None
    files: list[Any] | None = None
    cloud: dict[str, Any] | None = None


class Repository(Fields):
    url: str


class Dependency(Fields):
    repo: Repository | None = None


class Stage(Fields):
    """A stage in dvc.lock, or a whole .dvc file."""

    wdir: str = ""
    deps: list[Dependency] = []
    outs: list[Out] = []


class Lock(Fields):
    """dvc.lock."""

    version: Literal["2.0"] = Field(alias="schema")
    stages: dict[str, Stage] = {}


class Definition(Fields):
    """A stage in dvc.yaml; `do` when it stands for many."""

    wdir: str = ""
    do: "Definition | None" = None


class Pipeline(Fields):
    """dvc.yaml."""

    stages: dict[str, Definition] = {}


Model = TypeVar("Model", bound=Fields)


@dataclass(frozen=True)
class Record:
    """An out, and where it was found."""

    file: str
    path: str
    """Relative to the project."""
    out: Out
    imported_from: str


def resolved(project: Path, path: str, revision: str) -> Dataset:
    """Raises StepError: DATA when there is no such dataset, or its record is damaged or of an unknown kind."""
    source = Source(project, revision)
    path = _normal(path)
    for file in _candidates(path):
        for record in _records(source, file):
            if record.path == path:
                return _dataset(record, revision)
            if path.startswith(f"{record.path}/"):
                raise data_error(f"{path}: is a part of {record.path}, which {file} tracks whole; stage {record.path}")
    raise data_error(f"{path}: no DVC file{_at(revision)} names it; {_known(source, path)}")


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


def _records(source: Source, file: str) -> Iterator[Record]:
    folder = posixpath.dirname(file)
    if file.endswith(".dvc"):
        stage = _content(source, file, Stage)
        if stage:
            yield from _outs(file, posixpath.join(folder, stage.wdir), stage)
        return
    lock = _content(source, file, Lock)
    if lock is None:
        return
    # dvc.lock has paths relative to the stage's wdir, which dvc.yaml alone tells; NAME@KEY comes from a foreach.
    pipeline = _content(source, posixpath.join(folder, "dvc.yaml"), Pipeline) or Pipeline()
    for name, stage in lock.stages.items():
        definition = pipeline.stages.get(name.partition("@")[0], Definition())
        wdir = (definition.do or definition).wdir
        yield from _outs(file, posixpath.join(folder, wdir), stage)


def _outs(file: str, folder: str, stage: Stage) -> Iterator[Record]:
    # Every import has such a dependency in its .dvc file (dvc/dependency/repo.py, PARAM_REPO).
    imported_from = next((dependency.repo.url for dependency in stage.deps if dependency.repo), "")
    for out in stage.outs:
        yield Record(file, posixpath.normpath(posixpath.join(folder, out.path)), out, imported_from)


def _content(source: Source, file: str, model: type[Model]) -> Model | None:
    """A DVC file; None where there is none. Raises StepError (DATA) that names its line or field."""
    text = source.read(file)
    if text is None:
        return None
    try:
        return model.model_validate(_yaml(file, text))
    except ValidationError as error:
        detail = error.errors()[0]
        where = ".".join(map(str, detail["loc"])) or "the whole file"
        raise data_error(f"{file}: {where}: {detail['msg']}; write it anew with DVC") from None


def _yaml(file: str, text: str) -> object:
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith(("<<<<<<< ", ">>>>>>> ")):
            raise data_error(f"{file}:{number}: holds a merge conflict; resolve it, then run `dvc status`")
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - derived from the safe loader
    except yaml.MarkedYAMLError as error:
        at = error.problem_mark.line + 1 if error.problem_mark else 1
        raise data_error(f"{file}:{at}: is no valid YAML: {error.problem}; restore it from git") from None
    except yaml.YAMLError as error:  # a character that YAML forbids
        raise data_error(f"{file}: is no valid YAML: {str(error).partition(chr(10))[0]}; restore it from git") from None


class _Loader(yaml.CSafeLoader):
    """Refuses a key that stands twice, of which YAML's own loader silently takes the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"{key.value} stands twice", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def _dataset(record: Record, revision: str) -> Dataset:
    out, where = record.out, f"{record.file}: {record.path}"
    if record.imported_from:
        raise data_error(f"{where}: is imported from {record.imported_from}; stage it from that project")
    if out.files is not None or out.cloud is not None:
        raise data_error(f"{where}: is in a version-aware remote, which argosy cannot read; push it to another one")
    if out.md5 is None:
        raise data_error(f"{where}: has no hash; run `dvc commit` and commit {record.file}")
    if out.hash != "md5":
        raise data_error(
            f"{where}: has a hash of DVC 2 (md5-dos2unix); run `dvc cache migrate --dvc-files`, push, commit"
        )
    return Dataset(record.path, out.md5, revision, out.remote, out.size, out.nfiles)


def _known(source: Source, path: str) -> str:
    """The datasets there are, nearest name first."""
    known = sorted({record.path for file in source.names() for record in _records(source, file)})
    if not known:
        return "it names no dataset at all: run `dvc add` or `dvc repro`, and commit what they write"
    known.sort(key=lambda name: difflib.SequenceMatcher(None, name, path).ratio(), reverse=True)
    return f"known are {', '.join(known)}"


def _at(revision: str) -> str:
    return f" at {revision}" if revision else ""
