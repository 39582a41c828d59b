"""What publishing takes and gives, and what a registered model says of its making. Part of the door between the two
rooms: pydantic only.
"""

from pathlib import Path

from pydantic import Field, FiniteFloat

from argosy.steps.base import Contract, Md5, StepInput, StepOutput
from argosy.steps.gates import Comparison, Verdict


class RegistryInput(StepInput):
    """A registered model, and where its MLflow is."""

    registry: str = Field(pattern=r"^[^/:'\"]+$", description="name of the registered model")
    tracking_uri: str = Field(
        default="",
        description="MLflow tracking URI; empty: MLFLOW_TRACKING_URI of the environment, else a database in FOLDER",
    )
    folder: Path | None = Field(
        default=None, description="folder that keeps MLflow's files, and its database, where no MLflow server does"
    )


class PublishInput(RegistryInput):
    alias: str = Field(min_length=1, description="alias that moves to the new version")
    models: Path = Field(description="the store of checkpoints and exported models")
    model: str = Field(description="folder of the exported model, relative to the model store")
    model_hash: str = Field(description="sha256 that the exported model file must have")
    run: str = Field(min_length=1, description="name of the run")
    run_uid: str = Field(
        pattern=r"^[\w.:-]+$", description="the run's unique id: the key under which it publishes once"
    )
    revision: str = Field(default="", description="git commit of the pipeline")
    dataset: str
    dataset_hash: Md5
    dataset_pin: str = Field(default="", description="what DVC records for the data; empty: not known")
    task: str
    image: str
    seed: str = Field(default="", description="seed of weights, order and augmentation")
    machine: str = Field(default="", description="machine that trained, as `machine.fingerprint` describes it")
    parameters: str = Field(description="the workflow's parameters, JSON list as Argo writes it")
    manifest: str = Field(
        default="", pattern=r"^[A-Za-z0-9+/=]*$", description="the manifest that ran, as `stored.packed` packs it"
    )
    verdicts: dict[str, Verdict] = Field(
        min_length=1, description="gate -> its verdict: `--verdicts.GATE=JSON`; all must let the model pass"
    )
    comparisons: dict[str, Comparison] = Field(
        default_factory=dict,
        description="gate -> how it compares with the champion, to be done again where another model became champion: "
        "`--comparisons.GATE=JSON`",
    )
    cache: Path | None = Field(
        default=None, description="the node's cache, read only, for a comparison that is done again; none: it cannot be"
    )


class PublishOutput(StepOutput):
    tracking_uri: str = Field(description="MLflow tracking URI, without name and password")
    registered_model: str
    version: int = Field(ge=1)
    model_uri: str = Field(description="`models:/NAME/VERSION`, for any MLflow client")
    created: bool = Field(description="false: an earlier attempt of this run had published already")
    champion: int = Field(ge=0, description="version that the alias is at; 0: at none")


class Recipe(Contract):
    """What a registered model is made of: enough to make it again."""

    registered_model: str
    version: int
    run: str
    run_uid: str
    task: str
    revision: str = Field(description="git commit; empty, or ending in -dirty: the project's files as they were")
    dataset: str
    dataset_hash: str
    dataset_pin: str = Field(description="what DVC records for the data, as `stage` takes it")
    image: str
    parameters: dict[str, str] = Field(description="the workflow's parameters, decoded")
    model_hash: str = Field(description="sha256 of the exported model file")
    training: dict[str, FiniteFloat] = Field(description="what was measured in training")
    verdicts: dict[str, Verdict]
    machine: str = Field(description="machine that trained, as `machine.fingerprint` describes it")
    packages: dict[str, str] = Field(description="installed package -> version, where it was published")
    manifest: str = Field(description="the manifest that ran, YAML; empty: not kept")


class RecipeInput(RegistryInput):
    """The recipe of a registered model's version, read where MLflow can be reached."""

    version: str = Field(
        pattern=r"^(\d+|@[A-Za-z_][\w-]*)$", description="number of the version, or @ALIAS for the one that holds it"
    )


class RecipeOutput(StepOutput):
    recipe: Recipe


class RollbackInput(RegistryInput):
    """An alias, back to the version that it was at before."""

    alias: str = Field(min_length=1, description="alias that moves")
    version: int = Field(default=0, ge=0, description="version that it moves to; 0: the one before")


class RollbackOutput(StepOutput):
    version: int = Field(ge=1, description="version that the alias is at now")
    left: int = Field(ge=0, description="version that it has left; 0: none")
