"""Runs on disk: one folder a run, its state an Argo Workflow object.

A run's state is `workflow.json`, a whole Workflow object, and `journal.jsonl`, one line for every change since. A
change costs one appended line however large the run is, and whoever is killed between two lines has lost nothing.
The runner folds the journal into `workflow.json` when a run ends and before it is resumed.
"""

import errno
import fcntl
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import IO

import msgspec

from argosy.pipelines.manifest import Json, Workflow
from argosy.pipelines.status import Node, Status

PROGRESS = re.compile(r"(\d+)/(\d+)")


class Change(msgspec.Struct, omit_defaults=True):
    """One line of the journal: a node as it is now, a new edge of the graph, or the run's own status without nodes."""

    node: Node | None = None
    edge: tuple[str, str] | None = None
    status: Status | None = None


_change_decoder = msgspec.json.Decoder(Change)
_encoder = msgspec.json.Encoder()


class DamagedError(ValueError):
    """A run's state that cannot be read; the message names file and line."""


class RunFolder:
    """One run's folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name
        self.manifest = path / "manifest.yaml"
        self.pods = path / "pods"
        self.volumes = path / "volumes"
        self.artifacts = path / "artifacts"
        self._snapshot = path / "workflow.json"
        self._journal = path / "journal.jsonl"
        self._lock = path / "lock"

    @property
    def exists(self) -> bool:
        return self._snapshot.exists()

    def create(self, text: str, workflow: Json) -> None:
        """A new run from its manifest's text and the Workflow object that it became by being named.

        It is there whole or not at all. Raises FileExistsError.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = RunFolder(Path(tempfile.mkdtemp(prefix=".new-", dir=self.path.parent)))
        new.manifest.write_text(text)
        new._snapshot.write_bytes(_encoder.encode(workflow))
        if self.path.exists() and not self.exists:  # a leftover that holds no run
            shutil.rmtree(self.path)
        try:
            new.path.rename(self.path)
        except OSError as error:
            shutil.rmtree(new.path)
            raise FileExistsError(self.path) from error

    def workflow(self) -> Json:
        """The run as an Argo Workflow object, as it is now. Raises DamagedError."""
        try:
            workflow = msgspec.json.decode(self._snapshot.read_bytes(), type=Json)
            msgspec.convert(workflow, Workflow)
            workflow["status"] = msgspec.to_builtins(self.status(workflow))
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise DamagedError(f"{self._snapshot}: damaged: {error}; remove {self.path}") from error
        return workflow

    def status(self, workflow: Json) -> Status:
        """The status that the snapshot and the journal add up to."""
        status = msgspec.convert(workflow.get("status", {}), Status)
        for number, line in enumerate(self._lines(), 1):
            try:
                _apply(_change_decoder.decode(line), status)
            except (msgspec.MsgspecError, UnicodeDecodeError, KeyError) as error:
                raise DamagedError(f"{self._journal}:{number}: damaged: {error}; remove {self.path}") from error
        return status

    def fold(self, workflow: Json, status: Status) -> None:
        """Write the whole state anew and begin an empty journal."""
        _replace(self._snapshot, _encoder.encode({**workflow, "status": status}))
        self._journal.unlink(missing_ok=True)

    def journal(self) -> "Journal":
        return Journal(self._journal)

    def hold(self) -> IO[str] | None:
        """Become the one runner of this run, until the returned file is closed. None: another runner lives."""
        file = self._lock.open("a+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        return file

    def runner(self) -> int | None:
        """The process id of the runner that works on this run now."""
        try:
            with self._lock.open("r") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    return int(file.read() or 0) or None
        except FileNotFoundError:
            pass
        return None

    def wait(self) -> None:
        """Wait until no runner works on this run."""
        with self._lock.open("r") as file:
            fcntl.flock(file, fcntl.LOCK_SH)

    def progress(self, pod: str) -> str:
        """What a pod says of its progress: `N/M`, or nothing that Argo would take (workflow/common: ParseProgress)."""
        try:
            lines = (self.pods / pod / "progress").read_text(errors="replace").splitlines()
        except FileNotFoundError:
            return ""
        said = PROGRESS.fullmatch(lines[-1].strip()) if lines else None
        return said[0] if said and 0 <= int(said[1]) <= int(said[2]) and int(said[2]) > 0 else ""

    def _lines(self) -> list[bytes]:
        """The journal's lines. What follows the last newline is empty, or a line cut by a kill."""
        try:
            return self._journal.read_bytes().split(b"\n")[:-1]
        except FileNotFoundError:
            return []


class Journal:
    """Appends changes; each is one write, so that a killed writer leaves whole lines and at most one torn."""

    def __init__(self, path: Path) -> None:
        self._path = str(path)
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)

    def node(self, node: Node) -> None:
        self._append(Change(node=node))

    def edge(self, parent: str, child: str) -> None:
        self._append(Change(edge=(parent, child)))

    def status(self, status: Status) -> None:
        self._append(Change(status=msgspec.structs.replace(status, nodes={})))

    def close(self) -> None:
        os.close(self._file)

    def _append(self, change: Change) -> None:
        line = _encoder.encode(change) + b"\n"
        try:
            written = os.write(self._file, line)
        except OSError as error:
            raise OSError(error.errno, error.strerror, self._path) from error
        if written != len(line):  # a full disk takes part of a line: take that part back
            os.ftruncate(self._file, os.fstat(self._file).st_size - written)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self._path)


class Home:
    """The folder that holds everything local: `.argosy` in the project."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.claims = path / "claims"
        self.host_paths = path / "host"
        self._runs = path / "runs"

    def run(self, name: str) -> RunFolder:
        return RunFolder(self._runs / name)

    def runs(self) -> list[RunFolder]:
        """All runs, newest first."""
        if not self._runs.is_dir():
            return []
        paths = (path for path in self._runs.iterdir() if not path.name.startswith("."))
        runs = [run for path in paths if (run := RunFolder(path)).exists]
        return sorted(runs, key=lambda run: run.path.stat().st_ctime_ns, reverse=True)


def _apply(change: Change, status: Status) -> None:
    if change.node:
        status.nodes[change.node.id] = change.node
    elif change.edge:
        parent, child = change.edge
        status.nodes[parent].children.append(child)
    elif change.status:
        for field in Status.__struct_fields__:
            if field != "nodes":
                setattr(status, field, getattr(change.status, field))


def _replace(path: Path, content: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_bytes(content)
    temporary.replace(path)
