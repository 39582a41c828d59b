"""The nouns of a pipeline: what is trained on which data, what it must prove, and where it is published."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, field_validator, model_validator

from argosy.pipelines import folders, names
from argosy.pipelines.code import Git
from argosy.pipelines.dataset import Dataset, dataset_parameter
from argosy.pipelines.errors import excerpt
from argosy.pipelines.gates import Gate
from argosy.pipelines.nouns import Noun
from argosy.pipelines.placement import Placement, Resources, Storage
from argosy.pipelines.push import OnPush
from argosy.pipelines.training import Training
from argosy.steps import pins, values

if TYPE_CHECKING:
    from hera.workflows import Workflow, WorkflowTemplate

RegisteredName = Annotated[str, Field(min_length=1, max_length=250, pattern=r"^[^/:'\"\x00-\x1f]+$")]


class Registry(Noun):
    """Where a model that passed is published."""

    name: RegisteredName = Field(description="name of the registered model", examples=["digits"])
    alias: str = Field(
        default="champion",
        pattern=r"^[A-Za-z_][\w-]*$",
        description="alias that moves to the new version",
        examples=["champion"],
    )
    tracking_uri: str | None = Field(
        default=None,
        description="MLflow server's address, or a database on the registry's volume; left out: what "
        "MLFLOW_TRACKING_URI names in the pod's environment, else such a database",
        examples=["https://mlflow.example.org"],
    )
    approval: bool = Field(
        default=False,
        description="whether a person lets each model that passed be published, in the Argo UI or by `argosy resume`",
        examples=[True],
    )
    resources: Resources = Field(
        default=Resources(cpu=1, memory="2Gi"),
        description="CPUs and memory of the pod that publishes",
        examples=[Resources(cpu=1, memory="2Gi")],
    )

    def __init__(self, name: str, **settings: Any) -> None:  # noqa: ANN401 - checked by pydantic
        super().__init__(name=name, **settings)

    @field_validator("alias")
    @classmethod
    def _is_no_version(cls, alias: str) -> str:
        # mlflow: utils/validation.py:740
        if alias.lower() == "latest" or re.fullmatch(r"v\d+", alias, re.IGNORECASE):
            raise ValueError(f"{alias!r} is a word that MLflow keeps for itself; choose one such as 'champion'")
        return alias

    @field_validator("tracking_uri")
    @classmethod
    def _is_reachable(cls, uri: str | None) -> str | None:
        if uri is None:
            return None
        if re.match(r"https?://[^/]*@", uri):
            raise ValueError("the address holds credentials; give them to the pod as environment from a Secret instead")
        if not uri.startswith(("http://", "https://", f"sqlite:///{folders.REGISTRY}/")):
            raise ValueError(
                f"{uri!r} is kept nowhere; give an http(s) address, or sqlite:///{folders.REGISTRY}/ and a file name"
            )
        return uri

    @property
    def may_be_on_volume(self) -> bool:
        """Whether MLflow's database and files can lie on the registry's volume, with no server between."""
        return self.tracking_uri is None or self.tracking_uri.startswith("sqlite:")


class Pipeline(Noun):
    """Data, training, gates and registry: staged, trained, judged and published, in that order."""

    name: str = Field(description="name, which begins the name of each run", examples=["digits"])
    dataset: Dataset | Sequence[Dataset] = Field(
        description="data to train on, one dataset or a list of them",
        examples=[Dataset("data/digits"), [Dataset("data/train"), Dataset("data/test")]],
    )
    training: Training = Field(description="training", examples=[])
    gates: Sequence[Gate] = Field(
        min_length=1, description="gates that a model must pass: at least one, or anything would be published"
    )
    registry: Registry = Field(
        description="place where a model that passed is published", examples=[Registry("digits")]
    )
    image: str = Field(
        pattern=r"^[^\s{}]+$",
        description="container image that holds argosy[steps] and the project",
        examples=["registry.example.org/digits@sha256:..."],
    )
    code: Git | None = Field(
        default=None,
        description="repository from which pods fetch the project's code; left out: the image holds it",
        examples=[Git("https://git.example.org/team/digits.git")],
    )
    seed: int = Field(default=0, ge=0, description="seed of weights, order and augmentation", examples=[0])
    description: str = Field(default="", description="line below the title in the Argo UI", examples=["Digits, 8 x 8"])
    labels: Mapping[str, str] = Field(
        default={},
        description="labels of a run, made fit for Kubernetes; the original goes into an annotation",
        examples=[{"team": "vision"}],
    )
    placement: Placement = Field(
        default=Placement(), description="nodes that the pods may run on", examples=[Placement()]
    )
    storage: Storage = Field(default=Storage(), description="caches and claims in the cluster", examples=[Storage()])
    reports: bool = Field(
        default=False,
        description="whether gates hand their reports to the cluster's artifact repository, which must be set up",
        examples=[True],
    )
    on_push: OnPush | None = Field(
        default=None, description="pushes that start a run, once the pipeline is deployed", examples=[OnPush()]
    )

    @field_validator("name")
    @classmethod
    def _is_dns_name(cls, name: str) -> str:
        limit = names.PIPELINE_NAME_LIMIT
        if not names.DNS_NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name for a workflow; write {names.dns_name(name) or 'digits'!r}")
        if len(name) > limit:
            raise ValueError(f"{name!r} has {len(name)} characters; leave {limit} at most, since a run adds six to it")
        return name

    @field_validator("dataset", mode="before")
    @classmethod
    def _are_datasets(cls, given: object) -> object:
        items = given if isinstance(given, list | tuple) else [given]
        datasets = [one for one in items if isinstance(one, Dataset)]
        if strange := [one for one in items if not isinstance(one, Dataset)]:
            meant = strange[0] if isinstance(strange[0], str) else "data/digits"
            raise ValueError(f"{excerpt(strange[0])} is no dataset; write Dataset({excerpt(meant)})")
        if not datasets:
            raise ValueError("[] is empty; give a dataset, such as Dataset('data/digits')")
        pins.sources(values.decode(dataset_parameter(datasets), str))
        return given

    @field_validator("gates")
    @classmethod
    def _have_names_of_their_own(cls, gates: Sequence[Gate]) -> Sequence[Gate]:
        twice = [name for name, count in Counter(gate.name for gate in gates).items() if count > 1]
        if twice:
            raise ValueError(f"several gates are named {twice[0]!r}; give each a name of its own: name='...-gate'")
        return gates

    @model_validator(mode="after")
    def _has_parameters_of_different_names(self) -> "Pipeline":
        tuned = {one.name for one in self.training.tuned}
        for gate in self.gates:
            if gate.parameter in tuned:
                what = f"{gate.parameter!r} is a hyperparameter and the threshold of {gate.name!r}"
                raise ValueError(f"{what}; give one of them another name")
        return self

    @property
    def datasets(self) -> Sequence[Dataset]:
        return [self.dataset] if isinstance(self.dataset, Dataset) else self.dataset

    def workflow(self) -> "Workflow":
        """The pipeline as an ordinary Hera Workflow."""
        from argosy.pipelines.graph import workflow

        return workflow(self._with_pinned_image())

    def workflow_template(self) -> "WorkflowTemplate":
        """The pipeline as an ordinary Hera WorkflowTemplate: kept in the cluster, run by name."""
        from argosy.pipelines.graph import workflow_template

        return workflow_template(self._with_pinned_image())

    def _with_pinned_image(self) -> "Pipeline":
        from argosy.pipelines.images.lock import pinned

        return self.model_copy(update={"image": pinned(self.image)})
