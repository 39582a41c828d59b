"""The noun of training: what is trained, on what, and how its state is kept."""

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field, FiniteFloat, field_validator, model_validator

from argosy.pipelines import quantities
from argosy.pipelines.errors import excerpt
from argosy.pipelines.hyperparameters import Hyperparameter, hyperparameters
from argosy.pipelines.nouns import Noun
from argosy.pipelines.placement import Bytes, ObjectName, Resources
from argosy.pipelines.queues import Nodes, Queue, Volcano
from argosy.steps import contracts

Duration = Annotated[str, AfterValidator(quantities.duration)]
MORE_MEMORY = 1.5
_OWN_VARIABLES = re.compile(r"ARGOSY_|ARGO_|JOB_NAME$|JOB_NAMESPACE$|RANK$|LOCAL_RANK$|WORLD_SIZE$|MASTER_")
_SECRET = re.compile(
    r"(PASSWORD|PASSWD|SECRET|TOKEN|API_?KEY|ACCESS_KEY|PRIVATE_KEY|CREDENTIAL)S?(_ID)?$", re.IGNORECASE
)


class Loop(Noun, contracts.Loop):
    """How argosy's own loop trains a task."""


class Checkpoints(Noun):
    """When training saves its state, where, and how much of it is kept."""

    every: Duration | None = Field(
        default="60s",
        description="time between two checkpoints; None: chosen from what one costs and how often a node fails",
        examples=["60s"],
    )
    hours_between_failures: FiniteFloat = Field(
        default=24,
        gt=0,
        description="expected hours between two failures, of all nodes together, from which the time is chosen",
        examples=[24],
    )
    keep: int = Field(
        default=2,
        ge=2,
        description="number of newest checkpoints kept, two at least since one may be torn",
        examples=[2],
    )
    store: str | None = Field(
        default=None,
        pattern=r"^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[^\s{}?#@]*)?$",
        description="bucket and prefix that hold checkpoints; left out: the models' claim does",
        examples=["s3://training/checkpoints"],
    )
    environment: ObjectName = Field(
        default="argosy-checkpoints",
        description="ConfigMap and Secret, each where it exists, that let training reach its store",
        examples=["argosy-checkpoints"],
    )

    @property
    def seconds(self) -> float:
        """Between two checkpoints; 0: chosen while training."""
        return quantities.seconds(self.every) if self.every else 0


class Training(Noun):
    """A task of the user's, trained by torchrun on one node or on several."""

    task: str = Field(
        pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$",
        description="task's import string, `module:Class`",
        examples=["argosy.steps.digits:Digits"],
    )
    script: str | None = Field(
        default=None,
        pattern=r"^[^\s{}:/][^\s{}:]*\.py$",
        description="path of a training script of your own in the project; left out: argosy's loop trains the task",
        examples=["vision/train.py"],
    )
    loop: Loop = Field(default=Loop(), description="settings of argosy's own loop", examples=[Loop()])
    hyperparameters: BaseModel | None = Field(
        default=None, description="task's hyperparameters, in a class of its own, without torch", examples=[]
    )
    nodes: Annotated[int, Field(ge=1)] | Nodes = Field(
        default=1, description="number of nodes, or a range of them", examples=[2, Nodes(at_least=2, at_most=4)]
    )
    queue: Queue | Volcano | None = Field(
        default=None,
        description="queue that starts all nodes together; left out: they start as the cluster has room",
        examples=[Queue("train"), Volcano()],
    )
    ranks_per_node: int = Field(default=1, ge=1, description="number of training processes on a node", examples=[2])
    resources: Resources = Field(
        default=Resources(cpu=2, memory="4Gi"),
        description="CPUs, memory and accelerators of a node's pod",
        examples=[Resources(cpu=2, memory="4Gi")],
    )
    more_memory: Bytes | None = Field(
        default=None,
        description="memory of the attempt after one that ran out of it; left out: half as much again",
        examples=["8Gi"],
    )
    shared_memory: Bytes | None = Field(
        default=None,
        description="memory of /dev/shm, a part of the pod's, for loaders and NCCL; left out: up to the pod's",
        examples=["2Gi"],
    )
    loader_workers: int = Field(
        default=0,
        ge=0,
        description="number of processes that read samples for a rank; 0: a thread, which is enough for small samples",
        examples=[4],
    )
    streaming: bool = Field(
        default=False,
        description="bool that says whether shards are read one after the other, and a resumed order is approximate",
        examples=[True],
    )
    environment: Mapping[str, str] = Field(
        default={},
        description="variables of the training processes, in place of argosy's own or beside them",
        examples=[{"NCCL_SOCKET_IFNAME": "eth0"}],
    )
    metrics: bool = Field(
        default=True,
        description="bool that says whether metrics go to the registry's MLflow, whose credentials training then has",
        examples=[False],
    )
    checkpoints: Checkpoints = Field(default=Checkpoints(), description="checkpoints", examples=[Checkpoints()])
    grace: Duration = Field(
        default="2m", description="time between SIGTERM and SIGKILL, for a last checkpoint", examples=["2m"]
    )
    hang_factor: FiniteFloat = Field(
        default=30,
        gt=1,
        description="number of median step times without a step after which ranks are taken for hung",
        examples=[30],
    )
    hang_after: Duration = Field(
        default="5m",
        description="time without a step that is no hang yet, whatever the median; three times it for the first",
        examples=["5m"],
    )

    @field_validator("hyperparameters")
    @classmethod
    def _are_scalars(cls, model: BaseModel | None) -> BaseModel | None:
        if model is not None:
            hyperparameters(model)
        return model

    @field_validator("script")
    @classmethod
    def _is_in_the_project(cls, script: str | None) -> str | None:
        if script and ".." in script.split("/"):
            raise ValueError(f"{script!r} leads out of the project; give a path inside it, relative to it")
        return script

    @field_validator("nodes", mode="before")
    @classmethod
    def _are_nodes(cls, nodes: object) -> object:
        if isinstance(nodes, Nodes) or (isinstance(nodes, int) and not isinstance(nodes, bool) and nodes >= 1):
            return nodes
        raise ValueError(f"{excerpt(nodes)} is no number of nodes; give one such as 2, or Nodes(at_least=2, at_most=4)")

    @field_validator("queue", mode="before")
    @classmethod
    def _is_a_kind_of_queue(cls, queue: object) -> object:
        if queue is None or isinstance(queue, Queue | Volcano):
            return queue
        meant = queue if isinstance(queue, str) else "train"
        raise ValueError(f"{excerpt(queue)} is no queue; write Queue({meant!r}), or Volcano(queue={meant!r})")

    @field_validator("environment")
    @classmethod
    def _are_variables(cls, environment: Mapping[str, str]) -> Mapping[str, str]:
        for name, value in environment.items():
            if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
                raise ValueError(f"{name!r} is no variable's name; use ASCII letters, digits and _")
            if _OWN_VARIABLES.match(name):
                raise ValueError(f"{name} is set for each process by argosy and torchrun; leave it out")
            if _SECRET.search(name):
                raise ValueError(
                    f"{name} would stand in the manifest; put it into the Secret of checkpoints.environment"
                )
            if "{{" in value:
                raise ValueError(f"the value of {name} holds {{{{, which Argo would replace; reword it")
        return environment

    @model_validator(mode="after")
    def _has_a_gpu_for_each_rank(self) -> "Training":
        ranks, gpus = self.ranks_per_node, self.resources.gpus
        if 0 < gpus < ranks:
            raise ValueError(
                f"{ranks} ranks_per_node do not fit on {gpus} GPU{'s' * (gpus > 1)}; set ranks_per_node to {gpus}, or "
                f"resources.gpus to {ranks}"
            )
        if gpus and not self.resources.accelerator.is_a_gpu and not self.script:
            kind = self.resources.accelerator.resource
            raise ValueError(f"argosy's own loop cannot train on {kind}; name a script of yours that can")
        return self

    @model_validator(mode="after")
    def _has_one_loop(self) -> "Training":
        if self.script and self.loop != Loop():
            raise ValueError(f"loop is of argosy's own loop, and {self.script} trains; leave out one of them")
        return self

    @model_validator(mode="after")
    def _has_a_range_only_where_one_is_admitted(self) -> "Training":
        is_admitted = isinstance(self.queue, Queue)
        if isinstance(self.nodes, Nodes) and not is_admitted:
            raise ValueError(
                f"no queue admits a part of {self.nodes.at_most} nodes; name one of Kueue's: queue=Queue('train')"
            )
        return self

    @model_validator(mode="after")
    def _has_more_memory_for_more(self) -> "Training":
        held = quantities.byte_count(self.resources.memory)
        for name in ("more_memory", "shared_memory"):
            given = getattr(self, name)
            if given and (quantities.byte_count(given) < held) is (name == "more_memory"):
                side = "less" if name == "more_memory" else "not less"
                raise ValueError(f"{name} {given} is {side} than the {self.resources.memory} of the pod; change one")
        return self

    @property
    def nodes_at_most(self) -> int:
        return self.nodes.at_most if isinstance(self.nodes, Nodes) else self.nodes

    @property
    def nodes_at_least(self) -> int:
        """0: all."""
        return self.nodes.at_least if isinstance(self.nodes, Nodes) else 0

    @property
    def is_gang(self) -> bool:
        """Whether its pods are started by a pod of their own."""
        return self.nodes_at_most > 1 or self.queue is not None

    @property
    def memory_after_running_out(self) -> str:
        """As Kubernetes writes it."""
        if self.more_memory:
            return self.more_memory
        return f"{int(quantities.byte_count(self.resources.memory) * MORE_MEMORY) >> 20}Mi"

    @property
    def variables(self) -> dict[str, str]:
        """The environment of the training processes. torchrun's threads are the supervisor's to choose."""
        # NCCL says why it failed; without, a rank only learns that it did.
        own = {"NCCL_DEBUG": "WARN"} if self.resources.gpus else {}
        return own | dict(self.environment)

    @property
    def tuned(self) -> list[Hyperparameter]:
        """The hyperparameters as text, each to become a parameter of the workflow."""
        return hyperparameters(self.hyperparameters) if self.hyperparameters else []
