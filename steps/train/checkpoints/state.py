"""A training's state, taken apart: tensors by name, and a frame of everything else, which is JSON.

    {"model": {"weight": tensor}, "optimizer": {"state": {0: ...}, "lr": 0.1}}
    -> tensors  {"model/weight": tensor, ...}
    -> frame    {"dict": [["model", {"dict": [["weight", {"tensor": "model/weight"}]]}], ...]}

What JSON cannot say stands in a dictionary of one entry, whose key says what it is.
"""

import base64
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.stage.failures import Wrong

Frame = Any
"""JSON, as Python has it: nested lists and dictionaries of texts, numbers and None."""


@dataclass
class Taken:
    """A state taken apart."""

    frame: Frame = None
    tensors: dict[str, Tensor] = field(default_factory=dict)
    entries: set[str] = field(default_factory=set)
    """Names of all entries of its dictionaries, by which ranks see whether their states are of one kind."""


def taken_apart(state: Mapping[str, Any]) -> Taken:
    """Raises StepError (CODE) that names the first entry that a checkpoint cannot hold."""
    taken = Taken()
    taken.frame = _frame(state, "", taken)
    return taken


def put_together(frame: Frame, tensors: Mapping[str, Tensor]) -> Any:  # noqa: ANN401 - whatever was taken apart
    """What was taken apart. Raises Wrong for what is no frame."""
    try:
        return _value(frame, tensors)
    except (ValueError, TypeError, KeyError, RecursionError):
        raise _NO_FRAME from None


def entries(frame: Frame) -> dict[str, Frame]:
    """Those of a frame that is a dictionary. Raises Wrong for any other."""
    try:
        return dict(frame["dict"])
    except (ValueError, TypeError, KeyError):
        raise _NO_FRAME from None


_NO_FRAME = Wrong("what stands beside its tensors is no state")


def _value(frame: Frame, tensors: Mapping[str, Tensor]) -> Any:  # noqa: ANN401, PLR0911 - one line for each kind
    if isinstance(frame, list):
        return [_value(one, tensors) for one in frame]
    if not isinstance(frame, dict):
        return frame
    match frame:
        case {"dict": list(pairs)}:
            return {key: _value(one, tensors) for key, one in pairs}
        case {"tensor": str(name)}:
            return tensors[name]
        case {"tuple": list(items)}:
            return tuple(_value(one, tensors) for one in items)
        case {"bytes": str(text)}:
            return base64.b64decode(text)
        case {"float": str(text)}:
            return float(text)
    raise ValueError(f"no state is written as {next(iter(frame), 'nothing')}")


def united(frames: Sequence[Frame]) -> Frame:
    """The entries of all these frames; where two have the same, the first one's."""
    first = frames[0]
    if not all(isinstance(one, dict) and "dict" in one for one in frames):
        return first
    of_key: dict[Any, list[Frame]] = {}
    for one in frames:
        for key, value in one["dict"]:
            of_key.setdefault(key, []).append(value)
    return {"dict": [[key, united(values)] for key, values in of_key.items()]}


def _frame(value: Any, name: str, taken: Taken) -> Frame:  # noqa: ANN401 - one line for each kind
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, Tensor):
        _take(value, name, taken)
        return {"tensor": name}
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, Mapping):
        taken.entries.update(_within(name, key) for key in value)
        return {"dict": [[_key(key, name), _frame(one, _within(name, key), taken)] for key, one in value.items()]}
    if type(value) in (list, tuple, torch.Size):
        items = [_frame(one, _within(name, index), taken) for index, one in enumerate(value)]
        return items if isinstance(value, list) else {"tuple": items}
    raise _refused(name, f"is a {type(value).__module__}.{type(value).__qualname__}")


def _take(tensor: Tensor, name: str, taken: Taken) -> None:
    if tensor.layout != torch.strided or tensor.is_quantized or tensor.is_meta:
        raise _refused(name, "is a tensor that is sparse, quantized or without values")
    if name in taken.tensors:
        raise _refused(name, "is the name of two tensors")
    taken.tensors[name] = tensor.detach()


def _key(key: object, name: str) -> str | int:
    if not isinstance(key, (str, int)):
        raise _refused(name, f"has a key that is a {type(key).__qualname__}")
    return key


def _within(name: str, key: object) -> str:
    return f"{name}/{key}" if name else str(key)


def _refused(name: str, why: str) -> StepError:
    holds = "tensors, numbers, texts, bytes, lists, tuples, dictionaries and None"
    return StepError(ExitCode.CODE, f"checkpoint: {name} {why}; a checkpoint holds {holds}: give one of these")
