"""The words of a pipeline, each imported when it is used: `from argosy.pipelines import Dataset, Pipeline`."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argosy.pipelines.gates import Accuracy, Latency, Memory
    from argosy.pipelines.placement import Placement, Resources, Storage, Toleration
    from argosy.pipelines.spec import Checkpoints, Dataset, Pipeline, Registry, Training

_MODULES = {
    "gates": ("Accuracy", "Latency", "Memory"),
    "placement": ("Placement", "Resources", "Storage", "Toleration"),
    "spec": ("Checkpoints", "Dataset", "Pipeline", "Registry", "Training"),
}
_HOMES = {word: module for module, words in _MODULES.items() for word in words}

__all__ = [
    "Accuracy",
    "Checkpoints",
    "Dataset",
    "Latency",
    "Memory",
    "Pipeline",
    "Placement",
    "Registry",
    "Resources",
    "Storage",
    "Toleration",
    "Training",
]


def __getattr__(word: str) -> object:
    if word not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {word!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[word]}"), word)


def __dir__() -> list[str]:
    return __all__
