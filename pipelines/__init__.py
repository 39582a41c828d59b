"""The words of a pipeline, each imported when it is used: `from argosy.pipelines import Dataset, Pipeline`."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argosy.pipelines.code import Git
    from argosy.pipelines.dataset import Dataset
    from argosy.pipelines.gates import Accuracy, CustomGate, NotWorseThanChampion, Slices
    from argosy.pipelines.placement import (
        Accelerator,
        Claim,
        NodeFolder,
        Placement,
        Resources,
        Scratch,
        Storage,
        Toleration,
    )
    from argosy.pipelines.push import OnPush
    from argosy.pipelines.queues import Nodes, Queue, Topology, Volcano
    from argosy.pipelines.serving_gates import Latency, Memory, ModelSize, Parity
    from argosy.pipelines.spec import Pipeline, Registry
    from argosy.pipelines.training import Checkpoints, Loop, Training

_MODULES = {
    "code": ("Git",),
    "dataset": ("Dataset",),
    "gates": ("Accuracy", "CustomGate", "NotWorseThanChampion", "Slices"),
    "placement": ("Accelerator", "Claim", "NodeFolder", "Placement", "Resources", "Scratch", "Storage", "Toleration"),
    "push": ("OnPush",),
    "queues": ("Nodes", "Queue", "Topology", "Volcano"),
    "serving_gates": ("Latency", "Memory", "ModelSize", "Parity"),
    "spec": ("Pipeline", "Registry"),
    "training": ("Checkpoints", "Loop", "Training"),
}
_HOMES = {word: module for module, words in _MODULES.items() for word in words}

__all__ = [
    "Accelerator",
    "Accuracy",
    "Checkpoints",
    "Claim",
    "CustomGate",
    "Dataset",
    "Git",
    "Latency",
    "Loop",
    "Memory",
    "ModelSize",
    "NodeFolder",
    "Nodes",
    "NotWorseThanChampion",
    "OnPush",
    "Parity",
    "Pipeline",
    "Placement",
    "Queue",
    "Registry",
    "Resources",
    "Scratch",
    "Slices",
    "Storage",
    "Toleration",
    "Topology",
    "Training",
    "Volcano",
]


def __getattr__(word: str) -> object:
    if word not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {word!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[word]}"), word)


def __dir__() -> list[str]:
    return __all__
