"""An exported model behind MLflow's pyfunc interface.

A copy of this file is kept inside every registered version, which so needs torch and numpy and nothing of argosy.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch.export.passes import move_to_device_pass

PROGRAM = "model.pt2"


class Model:
    """What MLflow calls `predict` of."""

    def __init__(self, program: torch.nn.Module) -> None:
        self._program = program

    def predict(self, data: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
        """The model's outputs for a batch of its inputs."""
        with torch.inference_mode():
            outputs: torch.Tensor = self._program(torch.from_numpy(np.ascontiguousarray(data)))
        return outputs.numpy()


def load_program(path: Path, device: str = "cpu") -> torch.nn.Module:
    """The module in a `model.pt2`, on a device. A file that holds pickled code is refused."""
    with _no_pickle():
        program = torch.export.load(path)
    module: torch.nn.Module = move_to_device_pass(program, device).module()
    return module


def _load_pyfunc(path: str) -> Model:
    return Model(load_program(Path(path) / PROGRAM))


@contextmanager
def _no_pickle() -> Iterator[None]:
    """torch.export.load reads tensors by unpickling anything where it cannot do without, in torch 2.15 at
    torch/export/pt2_archive/_package.py:894 and torch/_export/serde/serialize.py:441. This variable forbids it to.
    """
    name = "TORCH_FORCE_WEIGHTS_ONLY_LOAD"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
