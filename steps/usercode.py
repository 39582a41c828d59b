"""The user's code, by import string."""

import importlib
import importlib.util
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from argosy.steps import values
from argosy.steps.arguments import nearest
from argosy.steps.contracts import ExitCode, option
from argosy.steps.errors import StepError
from argosy.steps.hyperparameters import Hyperparameters

Kind = TypeVar("Kind", bound=Hyperparameters)


def imported(name: str) -> Any:  # noqa: ANN401 - whatever the user's name stands for
    """The object that `package.module:attribute` names.

    Raises StepError (USAGE), with a message for each: the module is missing, something that it imports is, or it has no
    such attribute. Any other exception of the module's own passes through.
    """
    module_name, _, attribute = name.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if module_name == missing or module_name.startswith(f"{missing}."):
            raise StepError(
                ExitCode.USAGE, f"{name}: there is no module {missing}; install it, or set PYTHONPATH to its folder"
            ) from None
        raise StepError(
            ExitCode.USAGE, f"{name}: {module_name} is there, but imports {missing}, which is not; install {missing}"
        ) from None
    try:
        return getattr(module, attribute)
    except AttributeError:
        hint = nearest(attribute, vars(module)) or f"; it is {module.__file__}"
        raise StepError(ExitCode.USAGE, f"{name}: {module_name} has no {attribute}{hint}") from None


def place(method: Callable[..., object]) -> str:
    """`loss() (task.py:12)`: where the user defines it."""
    code = getattr(inspect.unwrap(method), "__code__", None)
    where = f" ({code.co_filename}:{code.co_firstlineno})" if code else ""
    return f"{getattr(method, '__name__', method)}(){where}"


def hyperparameters(kind: type[Kind], given: Mapping[str, Any]) -> Kind:
    """Checked hyperparameters. Text stands for what `values.encode` wrote; a key may be in kebab-case.

    Raises StepError (USAGE) with a line for each that is wrong.
    """
    fields = {key.replace("-", "_"): value for key, value in given.items()}
    decoded = {
        key: values.decode(value, kind.model_fields[key].annotation)
        if isinstance(value, str) and key in kind.model_fields
        else value
        for key, value in fields.items()
    }
    try:
        return kind.model_validate(decoded)
    except ValidationError as error:
        lines = (_explanation(kind, detail) for detail in error.errors())
        raise StepError(ExitCode.USAGE, "\n".join(lines)) from None


def _explanation(kind: type[Hyperparameters], detail: ErrorDetails) -> str:
    key = option(str(detail["loc"][0]))
    name = f"--hyperparameters.{key}"
    if detail["type"] == "extra_forbidden":
        return f"{name}: the task has no such hyperparameter{nearest(key, map(option, kind.model_fields))}"
    given = "" if detail["type"] == "missing" else f"={detail['input']}"
    return f"{name}{given}: {detail['msg'][:1].lower()}{detail['msg'][1:]}"
