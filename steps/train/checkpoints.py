"""Checkpoints: CHECKPOINTS/step-00000120/ with `state.pt` and `manifest.json`, its hash.

One appears by a rename, whole. One that was damaged later is recognised by its hash, named, removed, and the one
before it is taken.
"""

import pickle
import sys
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError

from argosy.steps import files
from argosy.steps.base import Contract
from argosy.steps.errors import data_error

STATE = "state.pt"
MANIFEST = "manifest.json"


class Manifest(Contract):
    step: int
    sha256: str
    """Of state.pt."""


class Checkpoints:
    def __init__(self, folder: Path, kept: int) -> None:
        self._folder = folder
        self._kept = kept

    def save(self, step: int, state: dict[str, Any]) -> None:
        """Keeps this state, and drops the oldest beyond the number to keep."""
        with files.new_folder(self._at(step)) as folder:
            torch.save(state, folder / STATE)
            files.sync_file(folder / STATE)
            manifest = Manifest(step=step, sha256=files.sha256(folder / STATE))
            files.write_text(folder / MANIFEST, manifest.model_dump_json() + "\n")
        for old in self._all()[: -self._kept]:
            files.remove_folder(old)

    def newest(self) -> int:
        """The step of the newest sound checkpoint, 0 when there is none."""
        for folder in reversed(self._all()):
            if _is_sound(folder):
                return int(folder.name.removeprefix("step-"))
            # It must not count among those kept, or it would push out sound ones.
            files.remove_folder(folder)
            sys.stderr.write(f"checkpoint {folder}: is damaged and was removed; the one before it is taken\n")
        return 0

    def load(self, step: int) -> dict[str, Any]:
        """The state at a step that `newest` gave. Raises StepError (DATA) when it holds more than data."""
        path = self._at(step) / STATE
        try:
            state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        except pickle.UnpicklingError as error:
            reason = str(error).partition("\n")[0]
            raise data_error(
                f"{path}: holds more than tensors and numbers, so argosy did not write it: {reason}"
            ) from None
        return state

    def _at(self, step: int) -> Path:
        return self._folder / f"step-{step:08d}"

    def _all(self) -> list[Path]:
        return sorted(self._folder.glob("step-*"))


def _is_sound(folder: Path) -> bool:
    try:
        manifest = Manifest.model_validate_json((folder / MANIFEST).read_bytes())
        return files.sha256(folder / STATE) == manifest.sha256
    except (FileNotFoundError, ValidationError):
        return False
