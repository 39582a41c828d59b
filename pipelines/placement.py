"""Where pods run and what they get: resources, nodes and storage."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, field_validator

from argosy.pipelines import quantities
from argosy.pipelines.errors import excerpt
from argosy.pipelines.nouns import Noun

Cpu = Annotated[str | int | float, AfterValidator(quantities.cpu)]
Bytes = Annotated[str, AfterValidator(quantities.memory)]
AbsolutePath = Annotated[str, Field(pattern=r"^(/[^/\s{}]+)+$")]
ObjectName = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", max_length=253)]


class Resources(Noun):
    """What a pod may use. It is guaranteed exactly that, so that a neighbour changes no measurement."""

    cpu: Cpu = Field(description="CPUs, whole or in thousandths", examples=[2])
    memory: Bytes = Field(description="memory, in bytes with a unit", examples=["4Gi"])
    gpus: int = Field(default=0, ge=0, description="whole GPUs", examples=[1])


class Toleration(Noun):
    """A taint of nodes that the pods put up with."""

    key: str = Field(min_length=1, description="key of the taint", examples=["nvidia.com/gpu"])
    value: str | None = Field(default=None, description="value of the taint; left out: any value", examples=["present"])
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = Field(
        default=None, description="effect of the taint; left out: any effect", examples=["NoSchedule"]
    )


class Placement(Noun):
    """Which nodes the pods may run on."""

    node_selector: Mapping[str, str] = Field(
        default={}, description="labels that a node must have", examples=[{"disktype": "nvme"}]
    )
    tolerations: Sequence[Toleration] = Field(
        default=(), description="taints that the pods put up with", examples=[[Toleration(key="nvidia.com/gpu")]]
    )


class NodeFolder(Noun):
    """A folder of each node, shared by its pods and kept when they end; pod security baseline refuses it."""

    path: AbsolutePath = Field(description="folder on the node's fastest disk", examples=["/mnt/nvme/argosy"])

    def __init__(self, path: str, **settings: Any) -> None:  # noqa: ANN401 - checked by pydantic
        super().__init__(path=path, **settings)


class Claim(Noun):
    """A volume that a claim holds, shared by all pods that mount it and kept when they end."""

    name: ObjectName = Field(description="name of a volume claim in the namespace", examples=["argosy-cache"])

    def __init__(self, name: str, **settings: Any) -> None:  # noqa: ANN401 - checked by pydantic
        super().__init__(name=name, **settings)


class Scratch(Noun):
    """A folder that each pod has for itself: every pod fetches the whole dataset, and nothing of it is kept."""


Cache = NodeFolder | Claim | Scratch


class Storage(Noun):
    """Where data, models and the registry are kept in a cluster, and where pods learn how to reach their stores."""

    cache: Cache = Field(
        default=NodeFolder("/var/lib/argosy/cache"),
        description="place that caches datasets",
        examples=[NodeFolder("/mnt/nvme/argosy"), Claim("argosy-cache"), Scratch()],
    )
    models_claim: ObjectName = Field(
        default="argosy-models",
        description="volume claim that holds checkpoints and exported models",
        examples=["argosy-models"],
    )
    registry_claim: ObjectName = Field(
        default="argosy-registry",
        description="volume claim that holds MLflow's database and files when no MLflow server does",
        examples=["argosy-registry"],
    )
    data_environment: ObjectName = Field(
        default="argosy-data",
        description="ConfigMap and Secret, each where it exists, that are the environment of what fetches data",
        examples=["argosy-data"],
    )
    registry_environment: ObjectName = Field(
        default="argosy-registry",
        description="ConfigMap and Secret, each where it exists, that are the environment of what publishes",
        examples=["argosy-registry"],
    )

    @field_validator("cache", mode="before")
    @classmethod
    def _is_a_kind_of_cache(cls, cache: object) -> object:
        if isinstance(cache, Cache):
            return cache
        meant = (
            f"NodeFolder({cache!r})" if isinstance(cache, str) and cache.startswith("/") else "NodeFolder('/mnt/nvme')"
        )
        raise ValueError(f"{excerpt(cache)} is no place for a cache; write {meant}, Claim('argosy-cache') or Scratch()")
