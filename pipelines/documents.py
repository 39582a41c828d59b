"""YAML and JSON documents as Argo reads them.

Argo reads YAML through sigs.k8s.io/yaml, which follows YAML 1.1 but turns everything into JSON: a date stays text, and
`12:30` is no base-60 number. `y` and `n` are booleans, as keys too: `{y: 1}` has the key `true`.
"""

import re
from collections.abc import Iterator
from typing import Any

import yaml

from argosy.pipelines.expressions.golang import any_string

try:
    from yaml import CSafeLoader as _Loader
except ImportError:  # PyYAML was built without libyaml: the same, slower
    from yaml import SafeLoader as _Loader  # type: ignore[assignment]

_YES_OR_NO = re.compile(r"[yYnN]$")
_INT = re.compile(r"[-+]?(0b[01_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+)$")
_FLOAT = re.compile(r"[-+]?((\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|\.(inf|Inf|INF))$|\.(nan|NaN|NAN)$")
_REPLACED = {"tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:int", "tag:yaml.org,2002:float"}


class DocumentError(ValueError):
    """A text that is no YAML or JSON; the message names the line."""


class _KubernetesLoader(_Loader):
    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML's own class attribute
        first: [(tag, pattern) for tag, pattern in resolvers if tag not in _REPLACED]
        for first, resolvers in _Loader.yaml_implicit_resolvers.items()
    }

    bool_values = {**_Loader.bool_values, "y": True, "n": False}  # noqa: RUF012 - PyYAML's own class attribute

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Refuses a key that is given twice: whichever counted, the other's author would not know."""
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value != "<<":
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(None, None, f"{key.value} is given twice", key.start_mark)
                seen.add(key.value)
        pairs = super().construct_mapping(node, deep=deep)
        return {any_string(key) if isinstance(key, int | float) else key: value for key, value in pairs.items()}


_KubernetesLoader.add_implicit_resolver("tag:yaml.org,2002:bool", _YES_OR_NO, list("yYnN"))
_KubernetesLoader.add_implicit_resolver("tag:yaml.org,2002:int", _INT, list("-+0123456789"))
_KubernetesLoader.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+0123456789."))


def load_all(text: str) -> Iterator[Any]:
    """The documents of a YAML text (JSON is YAML), empty ones left out.

    Raises DocumentError with line and column.
    """
    loader = _KubernetesLoader(text)
    try:
        while loader.check_data():  # type: ignore[no-untyped-call]  # the stubs leave it untyped
            document = loader.get_data()
            if document is not None:
                yield document
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise DocumentError(f"{where}{getattr(error, 'problem', None) or error}") from error
    finally:
        loader.dispose()
