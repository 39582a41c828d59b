"""A workflow as the text of a manifest: the same bytes for the same definition."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from hera.workflows import Workflow

from argosy.pipelines.checks.rules import check_built
from argosy.pipelines.errors import CompileError
from argosy.pipelines.spec import Pipeline

try:
    from yaml import CSafeDumper as _Base
except ImportError:  # PyYAML was built without libyaml: the same, slower
    from yaml import SafeDumper as _Base  # type: ignore[assignment]

_NO_WRAPPING = 2**31 - 1
_MISTAKABLE = re.compile(r"[yYnN]|[-+]?\.?\d[\da-fA-FxXoO_.:+-]*")
"""Text that some reader of YAML takes for a boolean, a number, a date or a time."""


def compiled(source: Pipeline | Workflow, project: Path | None = None) -> str:
    """The manifest of a pipeline, or of any Hera workflow, once every check has passed.

    `project` is the folder whose DVC files and modules are checked too. Raises CompileError with every problem.
    """
    workflow = source.workflow() if isinstance(source, Pipeline) else source
    manifest = workflow.to_dict()
    if problems := check_built(workflow, manifest, project):
        raise CompileError(problems)
    return rendered(manifest)


def rendered(manifest: Mapping[str, Any]) -> str:
    """A manifest as YAML, its keys in the order in which Hera writes them."""
    return yaml.dump(
        _ordered(manifest),
        Dumper=_Dumper,
        sort_keys=False,
        default_flow_style=False,
        allow_unicode=True,
        width=_NO_WRAPPING,  # a wrapped `{{...}}` can neither be read nor searched for
    )


class _Dumper(_Base):
    """Quotes more than PyYAML does: to Argo's reader (sigs.k8s.io/yaml) `y` is true, and the commit 1234e5 a number."""


def _represent_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    if "\n" in text:
        style = "|"
    elif _MISTAKABLE.fullmatch(text):
        style = "'"
    else:
        style = None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)


def _ordered(value: Any) -> Any:  # noqa: ANN401 - any part of a manifest
    """Name first, then scalars, lists and mappings, each by name (hera: workflows/workflow.py, to_yaml)."""
    if isinstance(value, Mapping):
        return {key: _ordered(part) for key, part in sorted(value.items(), key=_rank)}
    return [_ordered(part) for part in value] if isinstance(value, list) else value


def _rank(item: tuple[str, object]) -> tuple[int, str]:
    key, value = item
    if key == "name" and isinstance(value, str):
        return 0, key
    return 3 if isinstance(value, Mapping) else 2 if isinstance(value, list) else 1, key
