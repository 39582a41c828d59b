"""How the nodes of a training start together: how many, before which others, and how near to each other."""

from typing import Annotated, Any

from pydantic import Field, model_validator

from argosy.pipelines.nouns import Noun

QueueName = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", max_length=63)]
"""A queue or a class of priorities: it becomes a label value."""


class Nodes(Noun):
    """A range of nodes: each attempt trains on as many as its queue admits."""

    at_least: int = Field(ge=1, description="number of nodes that suffice", examples=[2])
    at_most: int = Field(ge=2, description="number of nodes that are wanted", examples=[4])

    @model_validator(mode="after")
    def _is_a_range(self) -> "Nodes":
        if self.at_least >= self.at_most:
            raise ValueError(
                f"{self.at_least} nodes at least and {self.at_most} at most are no range; set nodes={self.at_most}"
            )
        return self


class Topology(Noun):
    """A part of the data centre in which all nodes of a training are, as Kueue's Topology names it."""

    level: str = Field(
        pattern=r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9][-A-Za-z0-9_.]*$",
        description="label of nodes whose value they share",
        examples=["cloud.provider.com/topology-rack"],
    )
    required: bool = Field(
        default=False,
        description="bool that says whether training rather waits than runs on nodes further apart",
        examples=[True],
    )

    def __init__(self, level: str, **settings: Any) -> None:  # noqa: ANN401 - checked by pydantic
        super().__init__(level=level, **settings)


class Queue(Noun):
    """A LocalQueue of Kueue, which admits all nodes of a training together, when its quota has room for them."""

    name: QueueName = Field(description="name of a LocalQueue in the namespace", examples=["train"])
    priority: QueueName | None = Field(
        default=None,
        description="name of a WorkloadPriorityClass; left out: the queue's own default",
        examples=["high"],
    )
    topology: Topology | None = Field(
        default=None,
        description="part of the data centre that all nodes are in; left out: any",
        examples=[Topology("cloud.provider.com/topology-rack")],
    )

    def __init__(self, name: str, **settings: Any) -> None:  # noqa: ANN401 - checked by pydantic
        super().__init__(name=name, **settings)


class Volcano(Noun):
    """Volcano's scheduler, which starts all nodes of a training together, through a PodGroup."""

    queue: QueueName = Field(default="default", description="name of one of Volcano's queues", examples=["train"])
    priority: QueueName | None = Field(
        default=None, description="name of a PriorityClass; left out: the cluster's default", examples=["high"]
    )
