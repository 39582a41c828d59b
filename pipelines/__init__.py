"""The words of a pipeline, each imported when it is used: `from argosy.pipelines import Dataset, Pipeline`."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argosy.pipelines.code import Git
    from argosy.pipelines.dataset import Dataset
    from argosy.pipelines.gates import Accuracy, Latency, Memory
    from argosy.pipelines.placement import Claim, NodeFolder, Placement, Resources, Scratch, Storage, Toleration
    from argosy.pipelines.push import OnPush
    from argosy.pipelines.spec import Checkpoints, Pipeline, Registry, Training

_MODULES = {
    "code": ("Git",),
    "dataset": ("Dataset",),
    "gates": ("Accuracy", "Latency", "Memory"),
    "placement": ("Claim", "NodeFolder", "Placement", "Resources", "Scratch", "Storage", "Toleration"),
    "push": ("OnPush",),
    "spec": ("Checkpoints", "Pipeline", "Registry", "Training"),
}
_HOMES = {word: module for module, words in _MODULES.items() for word in words}

__all__ = [
    "Accuracy",
    "Checkpoints",
    "Claim",
    "Dataset",
    "Git",
    "Latency",
    "Memory",
    "NodeFolder",
    "OnPush",
    "Pipeline",
    "Placement",
    "Registry",
    "Resources",
    "Scratch",
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
