"""What gates take and give. Part of the door between the two rooms: pydantic only."""

import math
from enum import StrEnum
from pathlib import Path
from typing import Literal

from pydantic import Field, FiniteFloat

from argosy.steps.base import Contract, DataInput, Md5, Share, Split, StepOutput, Task

# ---------------------------------------------------------------------------------------------- verdicts


class Answer(StrEnum):
    PASS = "pass"  # noqa: S105 - not a password
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"


class Policy(StrEnum):
    """What follows from an inconclusive answer."""

    FAIL = "fail"
    HOLD = "hold"
    PASS = "pass"  # noqa: S105 - not a password


class Part(Contract):
    """One of several decisions that a verdict is made of, such as that on a slice."""

    name: str
    answer: Answer
    estimate: FiniteFloat | None = Field(description="the measured value; none: it is not a finite number")
    bound: FiniteFloat | None = Field(description="one-sided confidence bound that decided; none: too few samples")
    samples: int = Field(ge=0)


MOST_PARTS = 50
"""Parts that a verdict holds, the worst first: it travels as one parameter. The report has all of them."""


class Verdict(Contract):
    """A gate's decision: made on the bound, never on the estimate."""

    gate: str = Field(description="the gate's name in the pipeline")
    answer: Answer
    inconclusive: Policy = Field(default=Policy.FAIL, description="what follows if the answer is inconclusive")
    metric: str = Field(description="what was measured, with its unit: `accuracy`, `p99 latency ms`, `memory MiB`")
    estimate: FiniteFloat | None = Field(description="the measured value; none: it is not a finite number")
    bound: FiniteFloat | None = Field(
        description="one-sided confidence bound that decided; none: too few samples for one"
    )
    threshold: FiniteFloat
    margin: FiniteFloat | None = Field(
        description="how far the bound is on the good side of the threshold; negative: on the bad; none: no bound"
    )
    confidence: Share = Field(description="confidence of the whole decision, all looks together")
    samples: int = Field(ge=0)
    method: str = Field(default="", description="how the bound was found: `exact binomial (Clopper-Pearson)`")
    looks: int = Field(default=1, ge=1, description="how many of the planned looks at the samples were taken")
    champion: int | None = Field(default=None, description="version that the model was compared with; none: with none")
    parts: tuple[Part, ...] = Field(default=(), max_length=MOST_PARTS)
    dataset_hash: Md5 | None = Field(default=None, description="hash of the data that it was judged on")
    machine: str = Field(default="", description="machine that judged, as `machine.fingerprint` describes it")
    reason: str = Field(description="one sentence a person reads in the Argo UI")

    @property
    def lets_pass(self) -> bool:
        """Whether the model may be published; where the policy is to hold, once a person has let it go on."""
        return self.answer is Answer.PASS or (
            self.answer is Answer.INCONCLUSIVE and self.inconclusive is not Policy.FAIL
        )


# ---------------------------------------------------------------------------------------------- inputs


class Judgement(Contract):
    """How sure a decision must be, and what follows where there is none."""

    confidence: Share = Field(description="confidence of the one-sided bound")
    inconclusive: Policy = Field(
        default=Policy.FAIL, description="what follows if the samples cannot tell: fail, hold for a person, or pass"
    )


class GateInput(Judgement, DataInput):
    model: str = Field(description="folder of the exported model, relative to the model store")
    model_hash: str = Field(description="sha256 that the exported model file must have")
    gpus: int = Field(default=0, ge=0, le=1, description="GPU that must be visible and judges; 0 judges on CPU")
    gate: str = Field(min_length=1, description="the gate's name in the pipeline")
    revision: str = Field(default="", description="git commit of the pipeline, for the report")


Looks = Field(
    default=1,
    ge=1,
    le=10,
    description="most looks: each that cannot tell is followed by one at twice as many, and all share the error rate",
)


class Sampling(Contract):
    """Which of a split's samples are judged by which metric, in an order that only the dataset decides."""

    split: Split = Field(default="test", description="split whose samples are judged")
    metric: str = Field(
        default="correct",
        pattern=r"^[A-Za-z_]\w*$",
        description="method of the task, (outputs, targets) -> one score for each sample, or one number for all",
    )
    cluster: str = Field(
        default="", description="label of samples that belong together, such as a patient; empty: each is its own"
    )
    samples: int = Field(default=0, ge=0, description="samples of the first look; 0: all of the split at once")
    looks: int = Looks


class SampledInput(Sampling, GateInput):
    """A gate on the predictions for a split's samples."""


class AccuracyInput(SampledInput):
    at_least: FiniteFloat = Field(description="the value that the lower bound must reach")


class SlicesInput(SampledInput):
    by: str = Field(min_length=1, description="label that tells the slices apart, such as a hospital")
    at_least: FiniteFloat = Field(description="the value that each slice's lower bound must reach")
    support: int = Field(default=30, ge=1, description="samples below which a slice is named and not judged")


class Comparison(Sampling, Judgement):
    """How a model is compared with the champion."""

    margin: FiniteFloat = Field(ge=0, description="how much worse than the champion still counts as not worse")


class ChampionInput(Comparison, SampledInput):
    registry: str = Field(pattern=r"^[^/:'\"]+$", description="name of the registered model")
    alias: str = Field(min_length=1, description="alias of the version to compare with")
    tracking_uri: str = Field(default="", description="MLflow tracking URI; empty: as for publishing")
    folder: Path | None = Field(default=None, description="folder that keeps MLflow's files where no server does")


def requests_needed(quantile: float, confidence: float) -> int:
    """Fewest requests of which the slowest bounds this quantile of the latency: all are below it with quantile ** n."""
    return math.ceil(math.log1p(-confidence) / math.log(quantile))


class LatencyInput(GateInput):
    quantile: Share = Field(description="quantile of the latency distribution, 0.99 for p99")
    at_most_ms: FiniteFloat = Field(gt=0, description="milliseconds that the quantile's upper bound may reach")
    batch_size: int = Field(default=1, ge=1, description="samples in one request")
    requests: int = Field(default=1000, ge=1, description="timed requests of the first look")
    looks: int = Looks
    arrivals_per_second: FiniteFloat = Field(
        default=0,
        ge=0,
        description="requests that arrive in a second, at random moments, whether or not the model is ready; "
        "0: each is sent when the one before is done",
    )


class MemoryInput(GateInput):
    at_most_mib: FiniteFloat = Field(
        gt=0, description="MiB that the process may hold at its peak; on the GPU if that judges"
    )
    batch_size: int = Field(default=1, ge=1, description="samples in one request")
    requests: int = Field(default=100, ge=1, description="requests during which the peak is taken")


class SizeInput(GateInput):
    at_most_mib: FiniteFloat = Field(gt=0, description="MiB that the exported model's files may have")


class ParityInput(GateInput):
    at_most: FiniteFloat = Field(
        ge=0, description="largest difference from the trained model's outputs, relative to their largest magnitude"
    )


class CustomInput(GateInput):
    function: Task = Field(description="the user's own gate, `module:function`")
    threshold: FiniteFloat = Field(description="the value that the measurement's bound is held against")
    direction: Literal["at-least", "at-most"] = Field(description="the side of the threshold that is good")


class GateOutput(StepOutput):
    answer: Answer
    verdict: Verdict
