"""Checkpoints in a folder that all nodes see.

step-00000120-3fa9c1d2/part-00000.bin     what rank 0 has written
step-00000120-3fa9c1d2/manifest.json      see manifest.py
.partial-step-00000130-77ab01ce/          is being written, or was
damaged-step-00000110-5c0d9e42/           is set aside
"""

import errno
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from argosy.steps import files
from argosy.steps.cache.rights import FULL, REFUSED
from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError, configuration_error
from argosy.steps.stage.failures import Missing, Wrong
from argosy.steps.train.checkpoints.manifest import BLOCK, Manifest
from argosy.steps.train.checkpoints.store import DAMAGED, Use

MANIFEST = "manifest.json"
READERS = 4


class Folder:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def place(self, name: str) -> str:
        return str(self._folder / name)

    def write(self, name: str, part: int, content: memoryview) -> None:
        folder = self._partial(name)
        with self._explained(len(content)):
            folder.mkdir(parents=True, exist_ok=True)
            with _part(folder, part).open("wb", buffering=0) as file:
                for start in range(0, len(content), BLOCK):
                    _write_all(file.fileno(), content[start : start + BLOCK])
                os.fsync(file.fileno())

    def commit(self, name: str, manifest: Manifest) -> None:
        folder = self._partial(name)
        with self._explained(0):
            self._require_parts(folder, manifest)
            with (folder / MANIFEST).open("wb") as file:
                file.write(manifest.written())
                file.flush()
                os.fsync(file.fileno())
            files.sync_folder(folder)
            folder.rename(self._folder / name)
            files.sync_folder(self._folder)

    def names(self) -> list[str]:
        return sorted(path.name for path in self._folder.glob("step-*"))

    def manifest(self, name: str) -> bytes:
        with self._readable():
            return (self._folder / name / MANIFEST).read_bytes()

    def read(self, name: str, part: int, blocks: Sequence[int], use: Use) -> None:
        with self._readable(), _part(self._folder / name, part).open("rb", buffering=0) as file:
            own = threading.local()  # fresh memory for each block would take longer than reading it

            def one(block: int) -> None:
                if not hasattr(own, "memory"):
                    own.memory = memoryview(bytearray(BLOCK))
                use(block, _block(file.fileno(), block, own.memory))

            with ThreadPoolExecutor(READERS, "checkpoint-reader") as readers:
                for _ in readers.map(one, blocks):
                    pass

    def remove(self, name: str) -> None:
        with self._explained(0):
            with suppress(FileNotFoundError):
                # What is removed by half must not count.
                (self._folder / name).rename(self._partial(name))
            with suppress(FileNotFoundError):
                files.remove_folder(self._partial(name))

    def set_aside(self, name: str) -> None:
        with self._explained(0):
            (self._folder / name).rename(self._folder / f"{DAMAGED}{name}")
            files.sync_folder(self._folder)

    def sweep(self) -> None:
        with self._explained(0):
            files.sweep(self._folder)
            for folder in self._folder.glob(f"{DAMAGED}*"):
                files.remove_folder(folder)

    def _partial(self, name: str) -> Path:
        return self._folder / f"{files.PARTIAL}{name}"

    def _require_parts(self, folder: Path, manifest: Manifest) -> None:
        """Every rank has written into this folder, and not into one of the same name on another node."""
        for part in manifest.parts:
            if not _part(folder, part).exists():
                raise configuration_error(
                    f"{folder}: what rank {part} has written is not there; mount the same model store on every node"
                )

    @contextmanager
    def _explained(self, count: int) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            where = self._folder
            if error.errno in FULL:
                needs = f" for the {count:,} bytes of a checkpoint's part" if count else ""
                raise configuration_error(
                    f"{where}: has no room{needs}; the checkpoints before it are kept: give the model store more space"
                ) from None
            if error.errno in REFUSED:
                raise configuration_error(
                    f"{where}: a checkpoint may not be written: {error.strerror}; give this user the right to write"
                ) from None
            raise StepError(ExitCode.TEMPORARY, f"{where}: a checkpoint cannot be kept: {error.strerror}") from None

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
            raise Missing(f"{Path(error.filename).name} is not there") from None
        except PermissionError as error:
            raise configuration_error(f"{error.filename}: this user may not read it; give it the right to") from None
        except OSError as error:
            if error.errno == errno.EIO:
                raise Wrong("the disk cannot read it") from None
            raise StepError(
                ExitCode.TEMPORARY, f"{self._folder}: a checkpoint cannot be read: {error.strerror}"
            ) from None


def _part(folder: Path, part: int) -> Path:
    return folder / f"part-{part:05d}.bin"


def _write_all(descriptor: int, content: memoryview) -> None:
    while content:
        content = content[os.write(descriptor, content) :]


def _block(descriptor: int, block: int, memory: memoryview) -> memoryview:
    """As much of it as there is."""
    filled = 0
    while filled < BLOCK and (count := os.preadv(descriptor, [memory[filled:]], block * BLOCK + filled)):
        filled += count
    return memory[:filled]
