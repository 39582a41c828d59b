"""A task's hyperparameters as workflow parameters: typed, with defaults, to be seen and edited in the Argo UI."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from argosy.pipelines import names
from argosy.steps import values
from argosy.steps.contracts import option

SCALARS = (bool, int, float, str)
OWN = ("dataset", "dataset-hash", "dataset-pin", "node", "revision", "seed")
"""The other parameters of a workflow, and the other inputs of a training template."""


@dataclass(frozen=True, slots=True)
class Hyperparameter:
    """One scalar of a task, as text."""

    name: str
    value: str
    description: str | None
    enum: tuple[str, ...] | None
    """The only values there are, for a bool and a Literal."""


def hyperparameters(model: BaseModel) -> list[Hyperparameter]:
    """A model's fields, in their order. Raises ValueError (`WHAT; REMEDY`) for one that cannot be a parameter."""
    return [_hyperparameter(model, field, info) for field, info in type(model).model_fields.items()]


def _hyperparameter(model: BaseModel, field: str, info: FieldInfo) -> Hyperparameter:
    name = option(field)
    if name in OWN:
        raise ValueError(f"hyperparameter {field!r} is an input that training has anyway; give it another name")
    if not names.PARAMETER_NAME.fullmatch(name):
        raise ValueError(f"hyperparameter {field!r} cannot be a parameter's name; use ASCII letters, digits and _")
    types = list(_alternatives(info.annotation))
    if strange := [kind for kind in types if not _is_scalar(kind)]:
        found = getattr(strange[0], "__name__", strange[0])
        raise ValueError(f"hyperparameter {field!r} is of type {found}; use bool, int, float, str, Literal or Optional")
    value = getattr(model, field)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"hyperparameter {field!r} is {value}; give a finite number")
    if "{{" in (info.description or ""):
        raise ValueError(f"the description of hyperparameter {field!r} holds {{{{, which Argo would replace; reword it")
    return Hyperparameter(name, values.encode(value), info.description, _enum(types))


def _alternatives(annotation: Any) -> Iterator[Any]:  # noqa: ANN401 - any annotation
    if get_origin(annotation) in (Union, UnionType):
        for argument in get_args(annotation):
            yield from _alternatives(argument)
    else:
        yield annotation


def _is_scalar(kind: Any) -> bool:  # noqa: ANN401 - any annotation
    if get_origin(kind) is Literal:
        return all(value is None or type(value) in SCALARS for value in get_args(kind))
    return kind in (*SCALARS, NoneType)


def _enum(types: list[Any]) -> tuple[str, ...] | None:
    found: list[object] = []
    for kind in types:
        if get_origin(kind) is Literal:
            found += get_args(kind)
        elif kind is bool:
            found += [True, False]
        elif kind is NoneType:
            found.append(None)
        else:
            return None
    return tuple(values.encode(value) for value in found)
