"""Objects of Kubernetes, and the YAML they are printed as."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from argosy.pipelines.compile import rendered
from argosy.pipelines.install.settings import Installation
from argosy.pipelines.manifest import Json

USER = 1000
"""User and group of argosy's pods (`argosy.pipelines.pods.USER`)."""


@dataclass(frozen=True)
class Object:
    """An object, and why it is there."""

    reason: str
    content: Json

    def yaml(self) -> str:
        comment = "".join(f"# {line}\n" for line in self.reason.splitlines())
        return comment + rendered(self.content)


def made(
    reason: str,
    api_version: str,
    kind: str,
    name: str,
    settings: Installation,
    *,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    **content: Any,  # noqa: ANN401 - whatever the kind has
) -> Object:
    """An object of the namespace, with argosy's labels."""
    metadata: Json = {"name": name}
    if kind != "Namespace":
        metadata["namespace"] = settings.namespace
    own = {"app.kubernetes.io/managed-by": "argosy", "app.kubernetes.io/version": version("argosy")}
    metadata["labels"] = {**own, **(labels or {})}
    if annotations:
        metadata["annotations"] = dict(annotations)
    return Object(reason, {"apiVersion": api_version, "kind": kind, "metadata": metadata, **content})


def config_map(
    reason: str,
    name: str,
    data: Mapping[str, str],
    settings: Installation,
    annotations: Mapping[str, str] | None = None,
) -> Object:
    return made(reason, "v1", "ConfigMap", name, settings, annotations=annotations, data=dict(data))


def printed(objects: Sequence[Object]) -> str:
    """The objects as one stream of YAML."""
    return "---\n".join(one.yaml() for one in objects)
