"""Where pods run and what they get: resources, nodes and storage."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from argosy.pipelines import quantities
from argosy.pipelines.nouns import Noun

Cpu = Annotated[str | int | float, AfterValidator(quantities.cpu)]
Bytes = Annotated[str, AfterValidator(quantities.memory)]
AbsolutePath = Annotated[str, Field(pattern=r"^(/[^/\s{}]+)+$")]
ClaimName = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", max_length=253)]


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


class Storage(Noun):
    """Where data, models and the registry are kept in a cluster."""

    cache: AbsolutePath = Field(
        default="/var/lib/argosy/cache",
        description="folder of each node, on its fastest disk, that caches datasets",
        examples=["/mnt/nvme/argosy"],
    )
    models_claim: ClaimName = Field(
        default="argosy-models",
        description="volume claim that holds checkpoints and exported models",
        examples=["argosy-models"],
    )
    registry_claim: ClaimName = Field(
        default="argosy-registry",
        description="volume claim that holds MLflow's database and files when no MLflow server does",
        examples=["argosy-registry"],
    )
