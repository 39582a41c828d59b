"""What every noun of a pipeline is: a frozen model whose errors say where, what and what to do."""

import math
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from argosy.pipelines import names
from argosy.pipelines.errors import Problem, SpecError, excerpt


class Noun(BaseModel):
    """A frozen model that takes exactly its fields, each of exactly its type. Raises SpecError."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    def __init__(self, **values: Any) -> None:  # noqa: ANN401 - checked by pydantic
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise SpecError(problems_of(error, type(self).model_fields)) from None


def problems_of(error: ValidationError, fields: Mapping[str, FieldInfo]) -> list[Problem]:
    """A model's complaints, in our words. `fields` are the model's, for what they say of themselves."""
    return [_problem(error.title, fields, detail) for detail in error.errors(include_url=False)]


_FORMS = {
    "greater_than": "is not above {gt:g}",
    "greater_than_equal": "is below {ge:g}",
    "less_than": "is not below {lt:g}",
    "less_than_equal": "is above {le:g}",
    "finite_number": "is not finite",
    "literal_error": "is none of {expected}",
    "string_pattern_mismatch": "does not look right",
    "string_type": "is no text",
    "sequence_str": "is one text, no list",
    "int_type": "is no whole number",
    "int_parsing": "is no whole number",
    "int_from_float": "is no whole number",
    "float_type": "is no number",
    "float_parsing": "is no number",
    "too_short": "is empty",
    "string_too_short": "is empty",
}
"""pydantic's error types -> the same in few words."""


_ALLOWED = {
    "greater_than": "a number above {gt:g}",
    "greater_than_equal": "{ge:g} or more",
    "less_than": "a number below {lt:g}",
    "less_than_equal": "{le:g} or less",
    "finite_number": "a finite number",
}
"""pydantic's error types -> what may be given, where the field does not say what it is."""


def _problem(model: str, fields: Mapping[str, FieldInfo], detail: ErrorDetails) -> Problem:
    where = model + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in detail["loc"])
    field = str(detail["loc"][0]) if detail["loc"] else ""
    if detail["type"] == "extra_forbidden":
        known = f"it has {', '.join(fields)}" if fields else "remove it"
        return Problem(where, f"{model} has no such field", names.suggestion(field, fields, known))
    if detail["type"] == "missing":
        return Problem(where, "is missing", _remedy(fields.get(field), detail))
    if detail["type"] == "value_error":
        what, _, remedy = str(detail["ctx"]["error"]).partition("; ")  # the form of our own validators
        return Problem(where, what, remedy or _remedy(fields.get(field), detail))
    # NaN is on neither side of a bound, so a bound may be what refuses it.
    kind = "finite_number" if detail["type"] in _ALLOWED and math.isnan(float(detail["input"])) else detail["type"]
    form = _FORMS.get(kind)
    what = form.format(**detail.get("ctx", {})) if form else f"is refused: {detail['msg']}"
    return Problem(where, f"{excerpt(detail['input'])} {what}", _remedy(fields.get(field), detail))


def _remedy(info: FieldInfo | None, detail: ErrorDetails) -> str:
    if info is None or not info.description:
        return f"give {_ALLOWED.get(detail['type'], 'another value').format(**detail.get('ctx', {}))}"
    example = f", such as {info.examples[0]!r}" if info.examples else ""
    article = "" if info.description.startswith(("what ", "whether ")) else "the "
    return f"give {article}{info.description}{example}"
