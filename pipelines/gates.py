"""Gates: what a model must prove before it is published.

A gate's settings have the names of its step's inputs (`argosy.steps.contracts`), and their meaning.
"""

from typing import Annotated, ClassVar

from pydantic import Field, FiniteFloat, model_validator

from argosy.pipelines.nouns import Noun
from argosy.pipelines.placement import Resources
from argosy.steps.base import Share, Split
from argosy.steps.contracts import Step
from argosy.steps.gates import requests_needed

GateName = Annotated[str, Field(pattern=r"^[a-z]([-a-z0-9]*[a-z0-9])?-gate$", max_length=63)]
"""The ending keeps it apart from every other task, input and parameter of a pipeline."""


class Gate(Noun):
    """A measurement of the exported model whose confidence bound is held against a threshold."""

    step: ClassVar[Step]
    threshold: ClassVar[str]
    """The field that becomes a parameter of the workflow, to be seen and edited in the Argo UI."""

    name: GateName = Field(
        description="title in the Argo UI, in lower case and ending in -gate", examples=["accuracy-gate"]
    )
    confidence: Share = Field(default=0.95, description="confidence of the one-sided bound", examples=[0.95])
    resources: Resources = Field(
        default=Resources(cpu=1, memory="2Gi"),
        description="CPUs, memory and GPUs of the gate's pod",
        examples=[Resources(cpu=1, memory="2Gi")],
    )

    @model_validator(mode="after")
    def _has_one_gpu_at_most(self) -> "Gate":
        if self.resources.gpus > 1:
            raise ValueError(f"{self.resources.gpus} resources.gpus are more than a gate uses; leave 0 or 1")
        return self

    @property
    def parameter(self) -> str:
        """Name of the workflow parameter that holds the threshold: `accuracy-at-least`."""
        return f"{self.name.removesuffix('-gate')}-{self.threshold.replace('_', '-')}"


class Accuracy(Gate):
    """The share of samples predicted correctly is at least this, to the given confidence."""

    step = Step.ACCURACY_GATE
    threshold = "at_least"

    name: GateName = Field(
        default="accuracy-gate", description="title in the Argo UI, ending in -gate", examples=["accuracy-gate"]
    )
    at_least: Share = Field(description="share of samples that must be predicted correctly", examples=[0.95])
    split: Split = Field(default="test", description="split whose samples are judged", examples=["test"])


class Latency(Gate):
    """A quantile of the time that one request takes is at most this, to the given confidence."""

    step = Step.LATENCY_GATE
    threshold = "at_most_ms"

    name: GateName = Field(
        default="latency-gate", description="title in the Argo UI, ending in -gate", examples=["latency-gate"]
    )
    quantile: Share = Field(description="quantile of the latencies, 0.99 for p99", examples=[0.99])
    at_most_ms: FiniteFloat = Field(gt=0, description="milliseconds that the quantile may reach", examples=[50])
    batch_size: int = Field(default=1, ge=1, description="samples in one request", examples=[1])
    requests: int = Field(default=1000, ge=1, description="number of timed requests", examples=[1000])

    @model_validator(mode="after")
    def _has_enough_requests(self) -> "Latency":
        needed = requests_needed(self.quantile, self.confidence)
        if self.requests < needed:
            raise ValueError(
                f"{self.requests} requests cannot bound the {self.quantile} quantile with confidence "
                f"{self.confidence}; set requests to {needed} or more"
            )
        return self


class Memory(Gate):
    """The process that predicts holds at most this much memory at its peak."""

    step = Step.MEMORY_GATE
    threshold = "at_most_mib"

    name: GateName = Field(
        default="memory-gate", description="title in the Argo UI, ending in -gate", examples=["memory-gate"]
    )
    at_most_mib: FiniteFloat = Field(gt=0, description="MiB that the process may hold", examples=[2048])
    batch_size: int = Field(default=1, ge=1, description="samples in one request", examples=[1])
    requests: int = Field(default=100, ge=1, description="number of requests that are measured", examples=[100])
