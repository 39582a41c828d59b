"""What a namespace gets: the options of `argosy install`."""

import ipaddress
import re
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from argosy.pipelines import quantities
from argosy.pipelines.cluster.connection import is_address
from argosy.pipelines.names import DNS_NAME
from argosy.pipelines.nouns import Noun
from argosy.pipelines.placement import AbsolutePath

Name = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")]
Size = Annotated[str, AfterValidator(quantities.memory)]


def _address(url: str) -> str:
    if "@" in url:
        raise ValueError("the address holds credentials; put them into the Secret that the notes name")
    if not is_address(url):
        raise ValueError(f"{url!r} is no address; write https://HOST or http://HOST:PORT")
    return url.rstrip("/")


def network_and_port(destination: str) -> tuple[str, int]:
    """`203.0.113.0/24:443` in two. Raises ValueError."""
    network, _, port = destination.rpartition(":")
    if not port.isdecimal() or not 0 < int(port) < 65536:
        raise ValueError(f"{port!r} is no port")
    return str(ipaddress.ip_network(network.replace("[", "").replace("]", ""))), int(port)


def _destination(text: str) -> str:
    kind, _, name = text.partition("/")
    try:
        if kind != "namespace" or not DNS_NAME.fullmatch(name):
            network_and_port(text)
    except ValueError:
        remedy = "write 203.0.113.0/24:443, [2001:db8::]/64:443 or namespace/NAME"
        raise ValueError(f"{text!r} is no destination; {remedy}") from None
    return text


_SYSTEM = re.compile(
    r"/(bin|boot|dev|etc|lib\w*|proc|root|run|sbin|sys|usr|var/lib/(kubelet|containerd|docker|etcd))(/.*)?"
    r"|/(home|media|mnt|opt|srv|tmp|var|var/lib|var/log|var/cache)"
)
"""Folders that a node has for itself, and those that hold other people's."""


def _own_folder(path: str) -> str:
    if ".." in path.split("/") or _SYSTEM.fullmatch(path):
        raise ValueError(f"{path} is the node's own; give the cache a folder of its own, such as /mnt/nvme/argosy")
    return path


NodePath = Annotated[AbsolutePath, AfterValidator(_own_folder)]

Address = Annotated[str, AfterValidator(_address)]
"""An http(s) address without credentials."""

Destination = Annotated[str, AfterValidator(_destination)]
"""Where pods may send: `NETWORK:PORT`, or `namespace/NAME` for every pod of it."""


class Installation(Noun):
    """What a namespace gets for argosy's pipelines."""

    namespace: Name = Field(description="name of the namespace", examples=["argosy"])
    cache: Literal["node", "claim", "scratch"] = Field(default="node", description="place of the dataset cache")
    node_folder: NodePath = Field(
        default="/var/lib/argosy/cache", description="folder of each node that caches datasets", examples=["/mnt/nvme"]
    )
    image: str | None = Field(
        default=None,
        pattern=r"^[^\s{}]+$",
        description="image with Python that gives the node's folder to argosy's pods",
        examples=["registry.example.org/argosy:0.1.0"],
    )
    storage_class: Name | None = Field(default=None, description="storage class of the claims", examples=["nfs"])
    access_mode: Literal["ReadWriteMany", "ReadWriteOnce"] = Field(
        default="ReadWriteMany", description="access mode of the claims"
    )
    models_size: Size = Field(default="50Gi", description="size of the claim for checkpoints and models")
    registry_size: Size = Field(default="10Gi", description="size of the claim for MLflow's files")
    cache_size: Size = Field(default="100Gi", description="size of the claim that caches datasets")
    # S3 answers 5,500 requests a second below a prefix, and DVC has one prefix for all data. At 30 ms a request, four
    # pods of 64 connections could ask for 8,500, if their objects are small: they slow down when told to.
    # https://docs.aws.amazon.com/AmazonS3/latest/userguide/optimizing-performance.html
    staging_limit: int = Field(default=4, ge=1, description="number of pods that may stage at a time", examples=[4])
    queue: Name | None = Field(
        default=None, description="name of a LocalQueue of Kueue's, for trainings", examples=["train"]
    )
    mlflow: Address | None = Field(
        default=None, description="address of the MLflow server", examples=["https://mlflow.example.org"]
    )
    s3_endpoint: Address | None = Field(
        default=None, description="address of the S3 server", examples=["https://s3.example.org"]
    )
    artifact_bucket: str | None = Field(
        default=None,
        pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$",
        description="bucket in which the Argo UI finds reports",
        examples=["argo-artifacts"],
    )
    git: Address | None = Field(
        default=None, description="address of the git server", examples=["https://git.example.org"]
    )
    kubernetes_api: Sequence[Destination] = Field(
        default=(), description="networks and ports of the Kubernetes API", examples=[["10.96.0.1/32:443"]]
    )
    egress: Sequence[Destination] = Field(
        default=(), description="networks and ports of the stores", examples=[["203.0.113.0/24:443"]]
    )

    @field_validator("image")
    @classmethod
    def _prepares_a_folder_where_there_is_one(cls, image: str | None, info: ValidationInfo) -> str | None:
        if image and info.data.get("cache") != "node":
            raise ValueError("it prepares a node's folder, and the cache is none; leave the image out")
        return image
