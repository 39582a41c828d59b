r"""Values as text: how a typed value crosses Argo's text substitution and arrives the same.

A parameter is one argv element. Most values are written as a person would write them (`0.01`, `true`, `hello`).
Text that the way to the pod would alter or refuse is written as `json:` and a JSON string in plain ASCII, so that it
stays readable in the Argo UI. On that way

- Argo inserts a value into JSON through Go's `strconv.Quote`, whose `\x..` and `\U........` escapes are not JSON
  (util/template/simple_template.go:55, argo-workflows#15512), and substitutes `{{...}}` inside values once more
  (workflow/common/util.go:225);
- Kubernetes expands `$(NAME)` and `$$` in arguments (third_party/forked/golang/expansion/expand.go).
"""

import json
import re
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

MARK = "json:"
HARMFUL = re.compile(r"\{(?=\{)|\$(?=[($])")


def encode(value: object) -> str:
    """The text of a JSON-like value: None, bool, int, float, str, or lists and dicts of them; or of a contract.

    Raises ValueError for NaN and infinities, which JSON lacks, and TypeError for anything else.
    """
    if isinstance(value, str):
        return value if _is_plain(value) else MARK + _defused(json.dumps(value))
    plain = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    return _defused(json.dumps(plain, allow_nan=False, separators=(",", ":")))


def decode(text: str, annotation: Any) -> Any:  # noqa: ANN401 - the value of any annotation
    """The value that `encode` wrote, for a field of this annotation.

    A text that is no JSON comes back as it is, so that pydantic's message names the field and shows what was given.
    """
    if text.startswith(MARK):
        text = text[len(MARK) :]
    elif _takes(annotation, str):
        return None if text == "null" and _takes(annotation, NoneType) else text
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _is_plain(text: str) -> bool:
    reads_otherwise = text == "null" or text.startswith(MARK)
    is_padded = text.strip() != text  # argoexec strips a final newline from an output parameter
    return not (reads_otherwise or is_padded or HARMFUL.search(text)) and all(map(_is_safe, text))


def _is_safe(character: str) -> bool:
    return character.isprintable() and ord(character) <= 0xFFFF


def _defused(text: str) -> str:
    # Only JSON's strings can hold these: its structure never has two opening braces in a row, nor a dollar.
    return HARMFUL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _takes(annotation: Any, kind: type) -> bool:  # noqa: ANN401 - any annotation
    origin = get_origin(annotation)
    if origin in (Union, UnionType, Annotated):
        return any(_takes(argument, kind) for argument in get_args(annotation))
    if origin is Literal:
        return any(isinstance(value, kind) for value in get_args(annotation))
    return annotation is kind
