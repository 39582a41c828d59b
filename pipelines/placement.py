"""Where pods run and what they get: resources, nodes and storage."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, FiniteFloat, field_validator

from argosy.pipelines import quantities
from argosy.pipelines.errors import excerpt
from argosy.pipelines.nouns import Noun

Cpu = Annotated[str | int | float, AfterValidator(quantities.cpu)]
Bytes = Annotated[str, AfterValidator(quantities.memory)]
AbsolutePath = Annotated[str, Field(pattern=r"^(/[^/\s{}]+)+$")]
Capacity = Annotated[
    Annotated[str, AfterValidator(quantities.space)] | None,
    Field(description="bytes that the cache may hold; left out: what its disk can", examples=["500Gi"]),
]
FileCapacity = Annotated[
    Annotated[int, Field(ge=1)] | None,
    Field(description="files that the cache may hold; left out: what its disk can", examples=[1_000_000]),
]
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
    at_most: Capacity = None
    at_most_files: FileCapacity = None

    def __init__(self, path: str, **settings: Any) -> None:  # noqa: ANN401 - checked by pydantic
        super().__init__(path=path, **settings)


class Claim(Noun):
    """A volume that a claim holds, shared by all pods that mount it and kept when they end."""

    name: ObjectName = Field(description="name of a volume claim in the namespace", examples=["argosy-cache"])
    at_most: Capacity = None
    at_most_files: FileCapacity = None

    def __init__(self, name: str, **settings: Any) -> None:  # noqa: ANN401 - checked by pydantic
        super().__init__(name=name, **settings)


class Scratch(Noun):
    """A folder that each pod has for itself: every pod fetches the whole dataset, and nothing of it is kept."""


Cache = NodeFolder | Claim | Scratch

STAGED_AT_A_TIME = "pods"
"""The entry of the ConfigMap `Storage.staging`."""


class Storage(Noun):
    """Where data, models and the registry are kept in a cluster, and where pods learn how to reach their stores."""

    cache: Cache = Field(
        default=NodeFolder("/var/lib/argosy/cache"),
        description="place that caches datasets",
        examples=[NodeFolder("/mnt/nvme/argosy"), Claim("argosy-cache"), Scratch()],
    )
    staging: ObjectName | None = Field(
        default="argosy-staging",
        description="ConfigMap whose entry `pods` says how many pods of the namespace may stage at a time; None: any",
        examples=["argosy-staging"],
    )
    connections: int = Field(
        default=64, ge=1, le=256, description="requests that a pod has with the data's store at a time", examples=[64]
    )
    at_most_mb_per_second: FiniteFloat | None = Field(
        default=None,
        ge=0.001,
        description="megabytes (10^6 bytes) that a pod may fetch in a second; left out: any",
        examples=[200],
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
