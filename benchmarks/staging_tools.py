"""What stages a load: tools as commands, in the folder that they run in."""

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from borrowed import objectstore
from report import ROOT
from staging_data import BUCKET, DATA
from timing import Case

ARGOSY, PULL, VERIFIED = "argosy", "dvc pull", "dvc pull, verify = true"
RCLONE, FLOOR = "rclone copy", "floor: read, md5, write"
STEPS = [sys.executable, "-m", "argosy.steps"]
DATASET = [f"--dataset={DATA}", "--revision=HEAD"]
VERIFY = "['remote \"store\"']\n    verify = true\n"


@dataclass(frozen=True)
class Load:
    """A dataset, and the goals for it: argosy's time as a share of that of `dvc pull`, and of the floor's."""

    name: str
    files: int
    file_bytes: int
    of_dvc: float | None = None
    of_floor: float | None = None

    @property
    def title(self) -> str:
        whole = self.file_bytes >> 20
        return f"{self.files:,} x {f'{whole} MiB' if whole else f'{self.file_bytes // 1000} kB'}"


def _nothing(_folder: Path) -> None:
    pass


@dataclass(frozen=True)
class Tool:
    """A command that stages a load into the folder that it runs in."""

    name: str
    argv: Sequence[str]
    count: Callable[[Path, str], int]
    """The files that are there, from the folder and from what was printed."""
    begin: Callable[[Path], None] = _nothing
    """What its folder holds before it runs for the first time."""
    again: Sequence[str] = ()
    """The command where it has run already; none: the same."""


@dataclass(frozen=True)
class Bench:
    """A load in a running server's bucket, and the git repository that names it."""

    load: Load
    folder: Path
    store: objectstore.ObjectStore

    @property
    def project(self) -> Path:
        return self.folder / "projects" / self.load.name

    @property
    def pin(self) -> Path:
        """What `resolve` gives."""
        return self.folder / "pins" / self.load.name

    @property
    def resolve(self) -> Case:
        words = [*DATASET, f"--project={self.project}", f"--output={self.pin}"]
        name = f"argosy resolve, {self.load.title}"
        return Case(name, [*STEPS, "resolve", *words], environment=self._environment(), prepare=self._ready(0))

    def cold(self, tool: Tool, latency: int, cwd: Path | None = None) -> Case:
        """Everything is fetched, into an empty folder, which is kept if it is given."""
        name = f"{tool.name}, {self.load.title}, cold, {latency} ms"
        return self._staging(name, tool.argv, tool, self._ready(latency, tool.begin), cwd)

    def warm(self, tool: Tool, latency: int, cwd: Path) -> Case:
        """The same again in a folder where it has been done."""
        name = f"{tool.name}, {self.load.title}, warm, {latency} ms"
        return self._staging(name, tool.again or tool.argv, tool, self._ready(latency), cwd)

    def argosy(self) -> Tool:
        pin = (self.pin / "dataset-pin").read_text()
        words = [f"--dataset-pin={pin}", f"--project={self.project}", "--cache=cache", "--output=output"]
        stage, ensure = [*STEPS, "stage", *DATASET, *words], [*STEPS, "ensure", *words]
        return Tool(
            ARGOSY, stage, lambda folder, _: sum(map(_files, folder.glob("cache/datasets/*/data"))), again=ensure
        )

    def rivals(self) -> list[Tool]:
        """The other tools that this machine has."""
        pull = [sys.executable, "-m", "dvc", "pull"]
        tools = [
            Tool(name, pull, lambda folder, _: _files(folder / DATA), partial(self._clone, settings))
            for name, settings in ((PULL, ""), (VERIFIED, VERIFY))
        ]
        source = f":s3:{BUCKET}/{self.load.name}"
        words = ["--config=", "--s3-provider=Other", "--s3-env-auth", f"--s3-endpoint={self.store.address}"]
        without = ["env", "-u", "AWS_CA_BUNDLE"]  # with one it fails, and there is no TLS
        copy = [*without, "rclone", "copy", source, "copy", "--transfers=32", "--use-server-modtime", *words]
        rclone = Tool(RCLONE, copy, lambda folder, _: _files(folder / "copy") - 1)  # the listing is an object too
        return [*tools, rclone] if shutil.which("rclone") else tools

    def floor(self) -> Tool:
        objects = self.folder / "buckets" / BUCKET / self.load.name
        program = ROOT / "benchmarks" / "staging_floor.py"
        return Tool(FLOOR, [sys.executable, str(program), str(objects), "copy"], lambda _, output: int(output) - 1)

    def _staging(
        self, name: str, argv: Sequence[str], tool: Tool, prepare: Callable[[Path], None], cwd: Path | None
    ) -> Case:
        environment = self._environment()
        return Case(name, argv, cwd, environment, steps=self.load.files, count=tool.count, prepare=prepare)

    def _ready(self, latency: int, begin: Callable[[Path], None] = _nothing) -> Callable[[Path], None]:
        def prepare(folder: Path) -> None:
            folder.mkdir(parents=True, exist_ok=True)
            begin(folder)
            self.store.set(latency_ms=latency)
            os.sync()  # what another command has written does not slow this one

        return prepare

    def _clone(self, settings: str, folder: Path) -> None:
        shutil.copytree(self.project, folder, dirs_exist_ok=True)
        (folder / ".dvc" / "config.local").write_text(settings)

    def _environment(self) -> dict[str, str]:
        """The server is reached past the proxy that keeps programs off the network."""
        here = "127.0.0.1"
        return {
            **self.store.environment,
            "DVC_SITE_CACHE_DIR": str(self.folder / "site"),
            "no_proxy": here,
            "NO_PROXY": here,
        }


def _files(folder: Path) -> int:
    return sum(len(names) for _, _, names in os.walk(folder))
