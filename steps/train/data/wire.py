"""Batches and failures from a worker process to its rank: through a pipe, so that no shared memory can run out."""

import pickle
import traceback
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import NamedTuple

import torch
from torch import Tensor

from argosy.steps import pod
from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.train.data.batch import Batch


class _Shape(NamedTuple):
    dtype: torch.dtype
    shape: tuple[int, ...]


class _Announced(NamedTuple):
    """A batch whose tensors' bytes follow."""

    inputs: _Shape
    targets: _Shape
    samples: int
    weight: float


class _Refused(NamedTuple):
    """A StepError."""

    exit_code: ExitCode
    message: str


class _Raised(NamedTuple):
    """Another error, and what is shown with it: a traceback cannot be sent."""

    error: Exception
    notes: Sequence[str]


def send(to: Connection, batch: Batch) -> None:
    tensors = [tensor.detach().contiguous() for tensor in (batch.inputs, batch.targets)]
    inputs, targets = (_Shape(tensor.dtype, tuple(tensor.shape)) for tensor in tensors)
    to.send(_Announced(inputs, targets, batch.samples, batch.weight))
    for tensor in tensors:
        to.send_bytes(_bytes(tensor))


def send_failure(to: Connection, error: Exception) -> None:
    if isinstance(error, StepError):
        to.send(_Refused(error.exit_code, error.message))
        return
    frame = pod.innermost(traceback.extract_tb(error.__traceback__))
    at = f"{frame.filename}:{frame.lineno}, in a loader worker" if frame else "in a loader worker"
    notes = ["".join(traceback.format_exception(error)), ", ".join([at, *getattr(error, "__notes__", [])])]
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    except Exception:  # noqa: BLE001 - whatever a user's exception does when it is pickled
        error = RuntimeError(f"{type(error).__name__}: {error}")
    to.send(_Raised(error, notes))


def received(source: Connection) -> Batch:
    """Raises what the worker raised, and EOFError when it has ended."""
    message = source.recv()
    if isinstance(message, _Refused):
        raise StepError(message.exit_code, message.message)
    if isinstance(message, _Raised):
        for note in message.notes:
            message.error.add_note(note)
        raise message.error
    inputs, targets = (_tensor(source, shape) for shape in (message.inputs, message.targets))
    return Batch(inputs, targets, message.samples, message.weight)


def _tensor(source: Connection, announced: _Shape) -> Tensor:
    tensor = torch.empty(announced.shape, dtype=announced.dtype)
    source.recv_bytes_into(_bytes(tensor))
    return tensor


def _bytes(tensor: Tensor) -> memoryview:
    return memoryview(tensor.view(-1).view(torch.uint8).numpy())  # type: ignore[arg-type] # numpy's stubs know it from 3.12
