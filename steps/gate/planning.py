"""What the planning of a gate takes and gives: pydantic only."""

from typing import Literal

from pydantic import Field, FiniteFloat

from argosy.steps.base import Share, StepInput, StepOutput


class PlanInput(StepInput):
    """A gate's settings and what the model is expected to reach, to learn how many samples the gate is worth."""

    gate: Literal["accuracy", "slices", "champion", "latency"] = Field(description="kind of gate")
    threshold: FiniteFloat = Field(
        description="value to reach: the metric's, for champion the margin below 0, for latency the quantile"
    )
    expected: FiniteFloat = Field(
        description="true value of the model: its metric, its difference to the champion, or the share of its requests "
        "that keep within the limit"
    )
    confidence: Share = Field(default=0.95, description="confidence of the gate's decision")
    power: Share = Field(default=0.8, description="wanted probability that such a model passes")
    samples: int = Field(default=0, ge=0, description="samples of the gate's first look; 0: all that there are")
    looks: int = Field(default=1, ge=1, le=10, description="most looks of the gate")
    available: int = Field(default=0, ge=0, description="samples that there are; 0: not known")
    slices: int = Field(default=1, ge=1, description="slices, taken to be equally large and good")
    spread: FiniteFloat | None = Field(
        default=None, gt=0, description="standard deviation of a sample's score; none: each is 0 or 1"
    )
    cluster_size: FiniteFloat = Field(
        default=1, ge=1, description="samples of a cluster, on average; 1: samples are independent"
    )
    correlation: FiniteFloat = Field(default=0, ge=0, le=1, description="of the scores within a cluster")
    differing: Share | None = Field(
        default=None, description="share of samples of which champion and model get only one right; champion only"
    )


class PlanOutput(StepOutput):
    fewest: int | None = Field(description="samples below which even a perfect model cannot pass; none: not known")
    needed: int | None = Field(
        description="samples at which the model passes with the wanted power; none: no number is"
    )
    power: FiniteFloat | None = Field(description="probability that the model passes on the samples that there are")
    samples: tuple[int, ...] = Field(description="samples of each look; none where their number is not known")
    method: str = Field(description="how it was computed")
