"""What DVC's files record: the outs in `.dvc` files and in `dvc.lock`, and what `dvc.yaml` says of those."""

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, ValidationError

from argosy.steps.base import Md5
from argosy.steps.errors import data_error
from argosy.steps.stage.source import Source

TAG = re.compile(r"\$\{[^}]*\}")
"""What DVC fills in when it reads dvc.yaml."""


class Fields(BaseModel):
    """A part of a DVC file: what is not named here is of no concern."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Out(Fields):
    path: str
    md5: Md5 | None = None
    hash: str | None = None
    size: NonNegativeInt | None = None
    nfiles: NonNegativeInt | None = None
    remote: str | None = None
    cache: bool = True
    push: bool = True
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
    outs: list[Any] = []
    metrics: list[Any] = []
    plots: list[Any] = []
    do: "Definition | None" = None

    def said_of(self, path: str) -> dict[str, Any]:
        """What the stage says of an out beside its path, which may hold tags here: `data/${item}: {push: false}`."""
        outs: dict[str, Any] = {}
        for out in (*self.outs, *self.metrics, *self.plots):
            outs |= {str(name): said for name, said in out.items()} if isinstance(out, dict) else {str(out): None}
        fitting = [written for written in outs if re.fullmatch(".+".join(map(re.escape, TAG.split(written))), path)]
        said = outs[path if path in fitting else fitting[0]] if fitting else None
        if not isinstance(said, dict):
            return {}
        remote = {"remote": str(said["remote"])} if said.get("remote") else {}
        return remote | {name: said.get(name) is not False for name in ("cache", "push")}


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
    """The other repository that the out belongs to; empty: this one."""


class Records:
    """The outs that a project's DVC files record. Each file is read once."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._read: dict[str, list[Record]] = {}

    def of(self, file: str) -> list[Record]:
        """A file's outs; none where it is not there. Raises StepError (DATA) that names the line or field."""
        if file not in self._read:
            self._read[file] = list(self._of_dvc(file) if file.endswith(".dvc") else self._of_lock(file))
        return self._read[file]

    def all(self) -> list[Record]:
        return [record for file in self._source.names() for record in self.of(file)]

    def _of_dvc(self, file: str) -> Iterator[Record]:
        if stage := self._content(file, Stage):
            folder = posixpath.join(posixpath.dirname(file), stage.wdir)
            # Every import has such a dependency in its .dvc file (dvc/dependency/repo.py, PARAM_REPO).
            imported_from = next((dependency.repo.url for dependency in stage.deps if dependency.repo), "")
            for out in stage.outs:
                yield Record(file, posixpath.normpath(posixpath.join(folder, out.path)), out, imported_from)

    def _of_lock(self, file: str) -> Iterator[Record]:
        lock = self._content(file, Lock)
        if lock is None:
            return
        # dvc.lock has hashes alone: where a stage works and what becomes of its outs, dvc.yaml tells
        # (dvc/stage/serialize.py, to_single_stage_lockfile). NAME@KEY comes from a foreach or a matrix.
        folder = posixpath.dirname(file)
        pipeline = self._content(posixpath.join(folder, "dvc.yaml"), Pipeline) or Pipeline()
        for name, stage in lock.stages.items():
            definition = pipeline.stages.get(name.partition("@")[0], Definition())
            definition = definition.do or definition
            for out in stage.outs:
                path = posixpath.normpath(posixpath.join(folder, definition.wdir, out.path))
                yield Record(file, path, out.model_copy(update=definition.said_of(out.path)), imported_from="")

    def _content(self, file: str, model: type[Model]) -> Model | None:
        text = self._source.read(file)
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
