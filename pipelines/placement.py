"""Where pods run and what they get: resources, nodes and storage."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, FiniteFloat, field_validator, model_validator

from argosy.pipelines import quantities
from argosy.pipelines.errors import excerpt
from argosy.pipelines.names import LABEL_VALUE
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
LabelValue = Annotated[str, Field(pattern=f"^{LABEL_VALUE.pattern}$")]
ObjectName = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", max_length=253)]


_PRODUCT = {"nvidia.com": "nvidia.com/gpu.product", "amd.com": "amd.com/gpu.product-name"}
_MEMORY = {"nvidia.com": "nvidia.com/gpu.memory"}
"""Vendor -> label of nodes, the second in MiB: what NVIDIA's GPU feature discovery and AMD's node labeller write."""


class Accelerator(Noun):
    """A kind of accelerator, as the cluster's device plugin and its labels of nodes name it."""

    resource: str = Field(
        default="nvidia.com/gpu",
        pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$",
        description="resource that nodes offer, such as a whole GPU, a MIG profile or a Gaudi",
        examples=["nvidia.com/mig-1g.10gb", "amd.com/gpu", "habana.ai/gaudi"],
    )
    product: LabelValue | None = Field(
        default=None,
        description="product that a node must have, as its label says; left out: any",
        examples=["NVIDIA-H100-80GB-HBM3"],
    )
    memory_at_least: Bytes | None = Field(
        default=None,
        description="memory that a GPU of the node must have, as its label says; left out: any",
        examples=["40Gi"],
    )

    def __init__(self, resource: str = "nvidia.com/gpu", **settings: Any) -> None:  # noqa: ANN401 - checked by pydantic
        super().__init__(resource=resource, **settings)

    @model_validator(mode="after")
    def _is_known_by_labels(self) -> "Accelerator":
        for setting, labels in (("product", _PRODUCT), ("memory_at_least", _MEMORY)):
            if getattr(self, setting) is not None and self._vendor not in labels:
                what = f"nodes with {self.resource} have no label that tells their {setting.partition('_')[0]}"
                raise ValueError(f"{what}; leave out {setting}, and name a label of theirs as placement.node_selector")
        return self

    @property
    def is_a_gpu(self) -> bool:
        """Whether torch.cuda drives it."""
        return self._vendor in ("nvidia.com", "amd.com")

    @property
    def is_a_part(self) -> bool:
        """Whether it is a part of a GPU, of which a process sees one alone (NVIDIA: MIG user guide, CUDA)."""
        return self.resource.startswith("nvidia.com/mig-")

    @property
    def needs(self) -> list[tuple[str, str, str]]:
        """Label, operator and value that a node's labels must fulfil."""
        found = []
        if self.product is not None:
            found.append((_PRODUCT[self._vendor], "In", self.product))
        if self.memory_at_least is not None:
            mebibytes = -(-quantities.byte_count(self.memory_at_least) // 2**20)
            found.append((_MEMORY[self._vendor], "Gt", str(mebibytes - 1)))
        return found

    @property
    def _vendor(self) -> str:
        return self.resource.partition("/")[0]


class Resources(Noun):
    """What a pod may use. It is guaranteed exactly that, so that a neighbour changes no measurement."""

    cpu: Cpu = Field(description="CPUs, whole or in thousandths", examples=[2])
    memory: Bytes = Field(description="memory, in bytes with a unit", examples=["4Gi"])
    gpus: int = Field(default=0, ge=0, description="whole GPUs, or other accelerators", examples=[1])
    accelerator: Accelerator = Field(
        default=Accelerator(),
        description="kind of them; left out: any GPU of NVIDIA's",
        examples=[Accelerator(product="NVIDIA-H100-80GB-HBM3")],
    )

    @model_validator(mode="after")
    def _has_as_many_as_can_be_used(self) -> "Resources":
        kind = self.accelerator
        if not self.gpus and kind != Accelerator():
            raise ValueError(f"an accelerator is described, and no gpus are asked for; set gpus, or leave out {kind!r}")
        if self.gpus > 1 and kind.is_a_part:
            raise ValueError(f"a process sees one {kind.resource} alone; set gpus to 1, and more nodes")
        return self


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
