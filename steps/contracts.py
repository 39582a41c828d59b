"""What each step takes, gives and exits with: the module that both rooms import.

Needs pydantic only. A step is started as `python -m argosy.steps NAME --field=value ...`; it writes each field of its
output as one file of that name, and `record.json` with all of them, to its output folder. A step that exits 0 without
its record has failed. Inputs and outputs are named in kebab-case outside Python (`dataset_hash` is `--dataset-hash`).
"""

import json
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, FiniteFloat, field_validator

from argosy.steps.base import Contract, DataInput, Md5, StepInput, StepOutput, checked_by
from argosy.steps.gates import (
    AccuracyInput,
    ChampionInput,
    CustomInput,
    GateOutput,
    LatencyInput,
    MemoryInput,
    ParityInput,
    SizeInput,
    SlicesInput,
)
from argosy.steps.pins import Pin, sources
from argosy.steps.registry import (
    PublishInput,
    PublishOutput,
    RecipeInput,
    RecipeOutput,
    RollbackInput,
    RollbackOutput,
)

# ---------------------------------------------------------------------------------------------- how a step ends


class ExitCode(IntEnum):
    """Every exit code that argosy's steps choose themselves. Signals end a pod with 128 + their number."""

    OK = 0
    CODE = 1  # an exception nobody caught: Python's own code
    USAGE = 2  # the arguments are wrong: argparse's and click's code
    DATA = 65  # the data is missing, damaged or not what was asked for (sysexits EX_DATAERR)
    TEMPORARY = 75  # the machine, the network or a store failed; the same again may work (sysexits EX_TEMPFAIL)
    CONFIGURATION = 78  # what was asked for cannot be had here: no GPU, no space, no rights (sysexits EX_CONFIG)
    OUT_OF_MEMORY = 79  # the kernel killed a process of the pod for the pod's memory limit
    GATE_FAILED = 80  # the model is worse than the threshold: a result, not a fault
    GATE_INCONCLUSIVE = 81  # the samples cannot tell: a result, not a fault


class FailureClass(StrEnum):
    """Why a pod ended badly. The class decides what happens next: INFRASTRUCTURE is tried again, MEMORY once, with
    more of it, and nothing else is.
    """

    CODE = "code"
    DATA = "data"
    CONFIGURATION = "configuration"
    VERDICT = "verdict"
    MEMORY = "memory"
    INFRASTRUCTURE = "infrastructure"


FAILURE_CLASSES: dict[int, FailureClass] = {
    -1: FailureClass.INFRASTRUCTURE,  # Argo knows no exit code: the pod was deleted or its node was lost
    ExitCode.DATA: FailureClass.DATA,
    ExitCode.TEMPORARY: FailureClass.INFRASTRUCTURE,
    ExitCode.CONFIGURATION: FailureClass.CONFIGURATION,
    ExitCode.OUT_OF_MEMORY: FailureClass.MEMORY,
    ExitCode.GATE_FAILED: FailureClass.VERDICT,
    ExitCode.GATE_INCONCLUSIVE: FailureClass.VERDICT,
    ExitCode.USAGE: FailureClass.CONFIGURATION,
    64: FailureClass.INFRASTRUCTURE,  # Argo's executor failed around the container (cmd/argoexec/main.go:30)
    137: FailureClass.INFRASTRUCTURE,  # SIGKILL: out of memory, eviction, a node that went away
    143: FailureClass.INFRASTRUCTURE,  # SIGTERM: pre-emption or a drained node
    255: FailureClass.INFRASTRUCTURE,  # the container runtime or a remote shell gave up
}
"""Exit code -> class. What is not listed, signals such as SIGSEGV (139) among them, is CODE."""


def failure_class(exit_code: int) -> FailureClass:
    """The class of a non-zero exit code."""
    return FAILURE_CLASSES.get(exit_code, FailureClass.CODE)


RETRIED = {FailureClass.INFRASTRUCTURE, FailureClass.MEMORY}
RETRIED_EXIT_CODES = tuple(int(code) for code, kind in FAILURE_CLASSES.items() if kind in RETRIED)

# ---------------------------------------------------------------------------------------------- code


class CodeInput(StepInput):
    """The project's files at one commit of its git repository, in the place where the image would hold them."""

    repository: str = Field(min_length=1, description="address of the git repository: https, http, git or file")
    revision: str = Field(description="whole hash of the commit")
    project: Path = Field(description="folder that receives the files: empty, or left by an earlier attempt")
    lock: Path = Field(description="the image's requirements.lock, with which the commit's own must agree")
    credentials: Path = Field(description="folder that may hold a .netrc with the name and password for the repository")


class CodeOutput(StepOutput):
    commit: str = Field(description="hash of the commit whose files are there")


# ---------------------------------------------------------------------------------------------- data


class AskedFor(Contract):
    """Datasets at a revision, as whoever starts a run names them."""

    dataset: str = Field(min_length=1, description="path that dvc.lock or a .dvc file names, or a JSON list of sources")
    revision: str = Field(
        default="",
        description="git revision whose dvc.lock counts; empty, or ending in -dirty: the project's files as they are",
    )

    _names_datasets = field_validator("dataset")(checked_by(sources))


class ResolveInput(AskedFor, StepInput):
    """Datasets at a revision, to be pinned where git is: when a run is submitted."""

    project: Path = Field(description="folder of the project: its git repository and DVC configuration")


class ResolveOutput(StepOutput):
    dataset_pin: Pin = Field(description="description of the data, all that a pod needs to stage it")
    dataset_hash: Md5 = Field(description="hash that names the run's data")
    unverified: str = Field(description="why the remote could not be asked from here; empty: it has the data")


class ItemiseInput(StepInput):
    """The files of pinned data, to be compared with those of other data."""

    project: Path = Field(description="folder of the project, which a remote that is a folder is relative to")
    dataset_pin: Pin = Field(description="description of the data, as `resolve` gives it")


class ItemiseOutput(StepOutput):
    files: dict[str, str] = Field(description="path in the project -> md5")


class CacheInput(StepInput):
    """A step that lays data out in the node's cache."""

    project: Path = Field(description="folder of the project, which a remote that is a folder is relative to")
    cache: Path = Field(description="the node's cache; data appears under CACHE/datasets/HASH")
    node_folder: str = Field(
        default="", description="folder of the node that the cache is, to be named in messages; empty: it is none"
    )
    cache_bytes: int = Field(default=0, ge=0, description="bytes that the cache may hold; 0: what its disk can")
    cache_files: int = Field(default=0, ge=0, description="files that the cache may hold; 0: what its disk can")
    connections: int = Field(default=64, ge=1, le=256, description="most requests to the remote at a time")
    bytes_per_second: int = Field(default=0, ge=0, description="most bytes fetched in a second; 0: no limit")


class StageInput(AskedFor, CacheInput):
    """A run's data, to be laid out read-only in the node's cache."""

    dataset_pin: str = Field(
        default="", description="what `resolve` found for this dataset and revision; empty: it is found here"
    )

    _is_a_pin = field_validator("dataset_pin")(checked_by(Pin.model_validate_json, unless_empty=True))


class EnsureInput(CacheInput):
    """Pinned data, to be there on whichever node the pod came to."""

    dataset_pin: Pin = Field(description="description of the data, all that a pod needs to stage it")
    part: str = Field(
        default="",
        pattern=r"^(\d+/\d+)?$",
        description="which of how many parts of the training shards this node gets, as in `0/4`; empty: all of them",
    )


class StageOutput(StepOutput):
    dataset_hash: Md5 = Field(description="hash that names the run's data and pins every byte of it")
    dataset_pin: Pin = Field(description="description of the data, all that a pod needs to stage it")
    files: int = Field(ge=0, description="files in the data")
    bytes: int = Field(ge=0, description="bytes in the data")
    fetched_bytes: int = Field(ge=0, description="bytes that this step had to fetch; 0 when the cache had them")
    hits: int = Field(ge=0, description="files that the cache had")
    node: str = Field(description="node whose cache holds the data")


NODE = "ARGOSY_NODE"
"""Environment variable that names the node that a pod is on; none: the machine's own name."""


# ---------------------------------------------------------------------------------------------- train


RunName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]


class Loop(Contract):
    """How argosy's own loop trains a task."""

    precision: Literal["float32", "bfloat16", "float16"] = Field(
        default="float32", description="what the model computes in; weights and optimiser stay in float32"
    )
    accumulation: int = Field(default=1, ge=1, description="parts that a rank's share of a batch is computed in")
    clip_norm: FiniteFloat | None = Field(default=None, gt=0, description="norm that gradients are cut to; none: any")
    warmup_steps: int = Field(default=0, ge=0, description="steps during which the learning rate grows from zero")
    schedule: Literal["constant", "linear", "cosine"] = Field(
        default="constant", description="course of the learning rate after the warm-up, down to zero at the end"
    )
    compile: bool = Field(default=False, description="whether torch.compile makes the model faster")
    average: FiniteFloat = Field(
        default=0, ge=0, lt=1, description="decay of the weights' moving average, which is then exported; 0: none"
    )
    evaluate_every_epochs: int = Field(
        default=0, ge=0, description="epochs between two looks at the validation split; 0: at the end only"
    )
    patience: int = Field(
        default=0, ge=0, description="looks without a better accuracy after which training ends; 0: it does not"
    )
    spike: FiniteFloat | None = Field(
        default=None, gt=1, description="times its running median at which a step's loss ends the training; none: any"
    )


class TrainInput(DataInput):
    run: RunName = Field(description="name of the run: its files live under MODELS/RUN")
    script: str = Field(
        default="", description="the user's own training script, in the working folder; empty: argosy's loop"
    )
    loop: Loop = Field(default=Loop(), description="settings of argosy's own loop")
    nodes: int = Field(default=1, ge=1, description="nodes that train together, at most")
    nodes_at_least: int = Field(default=0, ge=0, description="nodes that suffice; 0: all")
    ranks: int = Field(ge=1, description="training processes on this node")
    gpus: int = Field(default=0, ge=0, description="GPUs that must be visible; 0 trains on CPU with gloo")
    seed: int = Field(default=0, ge=0, description="seed of weights, order and augmentation")
    loader_workers: int = Field(default=0, ge=0, description="processes that read samples for a rank; 0: a thread")
    streaming: bool = Field(
        default=False, description="whether shards are read one after the other, and a resumed order is approximate"
    )
    checkpoint_every_seconds: float = Field(
        ge=0, description="time between two checkpoints; 0: chosen from what one costs and how often a node fails"
    )
    hours_between_failures: float = Field(
        default=24, gt=0, description="expected hours between two failures, of all nodes together"
    )
    checkpoints_kept: int = Field(ge=2, description="newest checkpoints kept; two, since one may be torn")
    checkpoint_store: str = Field(
        default="", pattern=r"^(s3://[^/?#@]+(/[^?#@]*)?)?$", description="`s3://BUCKET/PREFIX`; empty: MODELS/RUN"
    )
    grace_seconds: float = Field(default=30, gt=0, description="time between SIGTERM and SIGKILL")
    hang_factor: float = Field(
        default=30, gt=1, description="median step times without a step after which the ranks are taken for hung"
    )
    hang_seconds: float = Field(
        default=300,
        gt=0,
        description="time without a step that is no hang yet; three times it for the first",
    )
    tracking_uri: str = Field(
        default="", description="MLflow tracking URI for metrics; empty: MLFLOW_TRACKING_URI, else none are kept there"
    )
    hyperparameters: dict[str, str] = Field(
        default_factory=dict,
        description="the task's hyperparameters as `values.encode` writes them: `--hyperparameters.NAME=TEXT`",
    )


class TrainOutput(StepOutput):
    model: str = Field(description="folder of the exported model, relative to the model store")
    model_hash: str = Field(description="sha256 of the exported model file")
    steps: int = Field(ge=0, description="optimiser steps in the whole training")
    resumed_at_step: int = Field(ge=0, description="the step that this attempt began from; 0: from scratch")
    loss: FiniteFloat | None = Field(description="training loss, mean of the last epoch; none: a script did not say")
    validation_accuracy: FiniteFloat | None = Field(
        description="share of validation samples predicted correctly; none: a script did not say"
    )
    samples_per_second: FiniteFloat | None = Field(
        description="training samples per second, all ranks; none: a script did not say"
    )
    machine: str = Field(default="", description="machine that trained, as `machine.fingerprint` describes it")
    save_seconds: FiniteFloat = Field(ge=0, description="longest time that a checkpoint took until it counted")
    stall_seconds: FiniteFloat = Field(ge=0, description="time that steps waited for checkpoints")


class GangInput(StepInput):
    """A training on several nodes: a Job in the cluster that the step's pod is in, or processes where it is in none."""

    run: RunName = Field(description="name of the run")
    job: str = Field(
        description="the Kubernetes Job, JSON; `{{inputs.parameters.NAME}}` in it are filled in from the arguments"
    )
    group: str = Field(default="", description="the PodGroup that a gang scheduler asks for, JSON; empty: none")
    arguments: dict[str, str] = Field(default_factory=dict, description="texts to fill in: `--arguments.NAME=TEXT`")
    models: Path = Field(description="the store of checkpoints and exported models")

    _is_a_job = field_validator("job")(checked_by(json.loads))
    _is_a_group = field_validator("group")(checked_by(json.loads, unless_empty=True))


NODE_RANK = "ARGOSY_NODE_RANK"
"""Environment variable of a gang's pod: which of the nodes it is, from 0."""
LEADER = "ARGOSY_LEADER"
"""Environment variable of a gang's pod: `HOST:PORT` at which its nodes meet."""
GANG = "ARGOSY_GANG"
"""Environment variable of a gang's pod: an id that no other attempt of any gang has."""


# ---------------------------------------------------------------------------------------------- all of them


class Step(StrEnum):
    """The names under which `python -m argosy.steps` starts each step."""

    CODE = "code"
    RESOLVE = "resolve"
    ITEMISE = "itemise"
    STAGE = "stage"
    ENSURE = "ensure"
    TRAIN = "train"
    GANG = "gang"
    ACCURACY_GATE = "accuracy-gate"
    SLICES_GATE = "slices-gate"
    CHAMPION_GATE = "champion-gate"
    LATENCY_GATE = "latency-gate"
    MEMORY_GATE = "memory-gate"
    SIZE_GATE = "size-gate"
    PARITY_GATE = "parity-gate"
    CUSTOM_GATE = "custom-gate"
    PUBLISH = "publish"
    RECIPE = "recipe"
    ROLLBACK = "rollback"


Contracts = tuple[type[StepInput], type[StepOutput]]
CONTRACTS: dict[Step, Contracts] = {
    Step.CODE: (CodeInput, CodeOutput),
    Step.RESOLVE: (ResolveInput, ResolveOutput),
    Step.ITEMISE: (ItemiseInput, ItemiseOutput),
    Step.STAGE: (StageInput, StageOutput),
    Step.ENSURE: (EnsureInput, StageOutput),
    Step.TRAIN: (TrainInput, TrainOutput),
    Step.GANG: (GangInput, TrainOutput),
    Step.ACCURACY_GATE: (AccuracyInput, GateOutput),
    Step.SLICES_GATE: (SlicesInput, GateOutput),
    Step.CHAMPION_GATE: (ChampionInput, GateOutput),
    Step.LATENCY_GATE: (LatencyInput, GateOutput),
    Step.MEMORY_GATE: (MemoryInput, GateOutput),
    Step.SIZE_GATE: (SizeInput, GateOutput),
    Step.PARITY_GATE: (ParityInput, GateOutput),
    Step.CUSTOM_GATE: (CustomInput, GateOutput),
    Step.PUBLISH: (PublishInput, PublishOutput),
    Step.RECIPE: (RecipeInput, RecipeOutput),
    Step.ROLLBACK: (RollbackInput, RollbackOutput),
}

RECORD = "record.json"
REPORT = "report.html"
"""A gate's report in its output folder: written for every verdict, whole or not at all."""
TERMINATION_LOG = "ARGOSY_TERMINATION_LOG"
"""Environment variable that names the file for the last word of a pod: what the node's message says."""


def option(field: str) -> str:
    """A field's name outside Python: `dataset_hash` is `dataset-hash`."""
    return field.replace("_", "-")
