"""Gates: what a model must prove before it is published.

A gate's settings have the names of its step's inputs (`argosy.steps.gates`), and their meaning.
"""

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, FiniteFloat, model_validator
from pydantic_core.core_schema import ValidationInfo

from argosy.pipelines.nouns import Noun
from argosy.pipelines.placement import Resources
from argosy.steps.base import Share, Split
from argosy.steps.contracts import CONTRACTS, Step, option

GateName = Annotated[str, Field(pattern=r"^[a-z]([-a-z0-9]*[a-z0-9])?-gate$", max_length=63)]
"""The ending keeps it apart from every other task, input and parameter of a pipeline."""

LABEL = r"\w[-. \w]*"
Looks = Annotated[int, Field(ge=1, le=10)]

CORRECT = "correct"
"""The metric that every task has: whether a sample is predicted correctly."""


def _share_of_correct(at_least: float, given: ValidationInfo) -> float:
    """The value that the metric is held against, which of correct predictions is a share. Raises ValueError."""
    if given.data.get("metric") == CORRECT and not 0 < at_least < 1:
        bound = "is not below 1" if at_least >= 1 else "is not above 0"
        raise ValueError(f"{at_least:g} {bound}; give the share of samples that must be predicted correctly")
    return at_least


Reached = Annotated[FiniteFloat, AfterValidator(_share_of_correct)]


class Gate(Noun):
    """A measurement of the exported model whose confidence bound is held against a threshold."""

    step: ClassVar[Step]
    threshold: ClassVar[str]
    """The step's input that becomes a parameter of the workflow, to be seen and edited in the Argo UI."""

    name: GateName = Field(
        description="title in the Argo UI, in lower case and ending in -gate", examples=["accuracy-gate"]
    )
    confidence: Share = Field(
        default=0.95, description="confidence of the one-sided bound, all looks together", examples=[0.95]
    )
    inconclusive: Literal["fail", "hold", "pass"] = Field(
        default="fail",
        description="policy where the samples cannot tell: the gate fails, a person decides, or the model passes",
        examples=["hold"],
    )
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
        return f"{self.name.removesuffix('-gate')}-{option(self.limit)}"

    @property
    def limit(self) -> str:
        """The noun's field that holds the threshold."""
        return self.threshold

    @property
    def may_hold(self) -> bool:
        """Whether a person decides where the samples cannot tell."""
        return self.inconclusive == "hold"

    def settings(self) -> dict[str, object]:
        """The step's inputs that the noun says."""
        taken = CONTRACTS[self.step][0].model_fields
        return {field: getattr(self, field) for field in taken if field in type(self).model_fields}


class Sampled(Gate):
    """A gate on the predictions for a split's samples."""

    metric: str = Field(
        default=CORRECT,
        pattern=r"^[A-Za-z_]\w*$",
        description="method of the task that scores its outputs: a score for each sample, or one number for all",
        examples=["f1"],
    )
    split: Split = Field(default="test", description="split whose samples are judged", examples=["test"])
    cluster: str = Field(
        default="",
        pattern=rf"^({LABEL})?$",
        description="label of samples that belong together; left out: each sample is its own",
        examples=["patient"],
    )
    samples: int = Field(
        default=0, ge=0, description="number of samples at the first look; 0: all of the split", examples=[1000]
    )
    looks: Looks = Field(
        default=1,
        description="most looks, each at twice as many samples as the one before, taken while they cannot tell",
        examples=[3],
    )

    @model_validator(mode="after")
    def _has_samples_left_for_more_looks(self) -> "Sampled":
        if self.looks > 1 and not self.samples:
            raise ValueError(
                f"the first of {self.looks} looks takes all samples and leaves none; set samples to those of the first"
            )
        return self


class Accuracy(Sampled):
    """The share of samples predicted correctly is at least this, or any other metric's value, to a confidence."""

    step = Step.ACCURACY_GATE
    threshold = "at_least"

    name: GateName = Field(
        default="accuracy-gate", description="title in the Argo UI, ending in -gate", examples=["accuracy-gate"]
    )
    at_least: Reached = Field(
        description="share of samples that must be predicted correctly, or the value that another metric must reach",
        examples=[0.95],
    )


class Slices(Sampled):
    """Each slice of the samples, such as those of each hospital, reaches the value, to a confidence."""

    step = Step.SLICES_GATE
    threshold = "at_least"

    name: GateName = Field(
        default="slices-gate", description="title in the Argo UI, ending in -gate", examples=["slices-gate"]
    )
    by: str = Field(pattern=rf"^{LABEL}$", description="label that tells the slices apart", examples=["hospital"])
    at_least: Reached = Field(
        description="share of a slice's samples that must be predicted correctly, or another metric's value",
        examples=[0.9],
    )
    support: int = Field(
        default=30, ge=1, description="number of samples below which a slice is named and not judged", examples=[30]
    )


class NotWorseThanChampion(Sampled):
    """The model is not worse than the registry's champion, on the same samples, by more than a margin."""

    step = Step.CHAMPION_GATE
    threshold = "margin"

    name: GateName = Field(
        default="champion-gate", description="title in the Argo UI, ending in -gate", examples=["champion-gate"]
    )
    margin: FiniteFloat = Field(
        ge=0, description="difference to the champion's metric that still counts as not worse", examples=[0.01]
    )


class CustomGate(Gate):
    """A measurement of your own: `function(judged)` returns it, and it is decided like any other."""

    step = Step.CUSTOM_GATE
    threshold = "threshold"

    name: GateName = Field(
        default="custom-gate", description="title in the Argo UI, ending in -gate", examples=["calibration-gate"]
    )
    function: str = Field(
        pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$",
        description="function's import string, `module:function`",
        examples=["vision.gates:calibration"],
    )
    at_least: FiniteFloat | None = Field(
        default=None, description="value that the measurement must reach", examples=[0.9]
    )
    at_most: FiniteFloat | None = Field(
        default=None, description="value that the measurement may reach", examples=[0.1]
    )

    @model_validator(mode="after")
    def _has_one_threshold(self) -> "CustomGate":
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError("one threshold is needed, and no two; give either at_least or at_most")
        return self

    @property
    def limit(self) -> str:
        return "at_most" if self.at_least is None else "at_least"

    def settings(self) -> dict[str, object]:
        own = {"threshold": getattr(self, self.limit), "direction": option(self.limit)}
        return super().settings() | own
