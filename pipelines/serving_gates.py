"""Gates on what it takes to run the exported model, and on whether it still is the trained one."""

from pydantic import Field, FiniteFloat, model_validator

from argosy.pipelines.gates import Gate, GateName, Looks
from argosy.steps.base import Share
from argosy.steps.contracts import Step
from argosy.steps.gates import requests_needed


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
    requests: int = Field(default=1000, ge=1, description="number of timed requests at the first look", examples=[1000])
    looks: Looks = Field(
        default=1,
        description="most looks, each at twice as many requests as the one before, taken while they cannot tell",
        examples=[3],
    )
    arrivals_per_second: FiniteFloat = Field(
        default=0,
        ge=0,
        description="requests that arrive in a second, at random moments; 0: each is sent when the one before is done",
        examples=[20],
    )

    @model_validator(mode="after")
    def _has_enough_requests(self) -> "Latency":
        needed = requests_needed(self.quantile, 1 - (1 - self.confidence) / self.looks)
        if self.requests < needed:
            shared = f", shared by {self.looks} looks" if self.looks > 1 else ""
            raise ValueError(
                f"{self.requests} requests cannot bound the {self.quantile} quantile with confidence "
                f"{self.confidence}{shared}; set requests to {needed} or more"
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


class ModelSize(Gate):
    """The exported model's files have at most this many bytes."""

    step = Step.SIZE_GATE
    threshold = "at_most_mib"

    name: GateName = Field(
        default="size-gate", description="title in the Argo UI, ending in -gate", examples=["size-gate"]
    )
    at_most_mib: FiniteFloat = Field(gt=0, description="MiB that the model's files may have", examples=[100])


class Parity(Gate):
    """The exported model's outputs are those of the trained one, but for this much of their magnitude."""

    step = Step.PARITY_GATE
    threshold = "at_most"

    name: GateName = Field(
        default="parity-gate", description="title in the Argo UI, ending in -gate", examples=["parity-gate"]
    )
    at_most: FiniteFloat = Field(
        ge=0, description="largest difference, relative to the outputs' largest magnitude", examples=[1e-4]
    )
