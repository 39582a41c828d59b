"""`--field-name=value` words <-> a step's input model.

Text is read by the field's annotation (`argosy.steps.values`) and then checked by the model. A field that is a dict is
filled key by key, `--verdicts.accuracy=...`; keys stay as given.
"""

import difflib
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar, get_args, get_origin

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from argosy.steps import values
from argosy.steps.base import StepInput
from argosy.steps.contracts import ExitCode, option
from argosy.steps.errors import StepError

Input = TypeVar("Input", bound=StepInput)


def parsed(model: type[Input], words: Sequence[str]) -> Input:
    """The step's input. Raises StepError (USAGE) with one line for each argument that is wrong."""
    fields: dict[str, Any] = {}
    faults = [fault for word in words if (fault := _take(model, word, fields))]
    try:
        inputs = model.model_validate(fields)
    except ValidationError as error:
        faults += [line for detail in error.errors() if (line := _explanation(model, detail, words))]
        raise StepError(ExitCode.USAGE, "\n".join(faults)) from None
    if faults:
        raise StepError(ExitCode.USAGE, "\n".join(faults))
    return inputs


def help_text(program: str, model: type[StepInput]) -> str:
    """What `--help` prints; `program` is what comes after `python -m`."""
    lines = [f"usage: python -m {program} --NAME=VALUE ...", "", _first_line(model), ""]
    for field, info in model.model_fields.items():
        default = (
            "" if info.is_required() else f" [default: {values.encode(info.get_default(call_default_factory=True))}]"
        )
        lines += [
            f"  --{option(field)}{'.KEY' if _is_dict(info) else ''}=VALUE",
            f"      {info.description or ''}{default}",
        ]
    return "\n".join(lines)


def nearest(word: str, words: Iterable[str]) -> str:
    """`; did you mean X?`, or nothing."""
    found = difflib.get_close_matches(word, list(words), n=1)
    return f"; did you mean {found[0]}?" if found else ""


def _take(model: type[StepInput], word: str, fields: dict[str, Any]) -> str | None:
    """Puts one word's value among the fields, or says what is wrong with the word."""
    name, equals, text = word.partition("=")
    stem, dot, key = name.removeprefix("--").partition(".")
    options = {option(field): field for field in model.model_fields}
    if not name.startswith("--") or stem not in options:
        return f"{name}: no such argument{nearest(name.partition('.')[0], (f'--{known}' for known in options))}"
    if not equals:
        return f"{name}: has no value; write {name}=VALUE, in one word"
    field = options[stem]
    info = model.model_fields[field]
    if bool(dot and key) != _is_dict(info):
        form = f"--{stem}.KEY=VALUE" if _is_dict(info) else f"--{stem}=VALUE"
        return f"{name}: is not of the form {form}"
    target, slot = (fields.setdefault(field, {}), key) if _is_dict(info) else (fields, field)
    if slot in target:
        return f"{name}: is given twice; leave one"
    target[slot] = _value(info, text)
    return None


def _value(info: FieldInfo, text: str) -> Any:  # noqa: ANN401 - the value of any field
    if not _is_dict(info):
        # FieldInfo takes a field's own Annotated apart; what is left is its type.
        return values.decode(text, info.annotation)
    item = get_args(info.annotation)[1]
    # A dict of text holds values of types that only the reader knows, so it is the reader who decodes them.
    return text if item is str else values.decode(text, item)


def _is_dict(info: FieldInfo) -> bool:
    return get_origin(info.annotation) is dict


def _explanation(model: type[StepInput], detail: ErrorDetails, words: Sequence[str]) -> str | None:
    field, *rest = (str(part) for part in detail["loc"])
    name = f"--{option(field)}"
    meaning = (model.model_fields[field].description or "value of that name").removeprefix("the ")
    if detail["type"] == "missing" and not rest:
        # A word without a value was reported already.
        return None if name in words else f"{name}: is missing; it is the {meaning}"
    where = ".".join([name, *rest])
    given = "" if detail["type"] == "missing" else f"={detail['input']}"
    if detail["type"] == "value_error":  # a validator of our own, which says what to do
        return f"{where}{given}: {detail['ctx']['error']}"
    return f"{where}{given}: {detail['msg'][:1].lower()}{detail['msg'][1:]}; it is the {meaning}"


def _first_line(model: type[StepInput]) -> str:
    return (model.__doc__ or "").strip().partition("\n")[0]
