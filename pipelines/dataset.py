"""Data under DVC, whole or in part, and the text by which a run names it."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from argosy.pipelines import quantities
from argosy.pipelines.nouns import Noun
from argosy.pipelines.placement import Resources
from argosy.steps import values
from argosy.steps.pins import Source

FilePattern = Annotated[str, Field(pattern=r"^[^/\x00-\x1f][^\x00-\x1f]*$")]


class Dataset(Noun):
    """Data under DVC. A run pins it by its hash."""

    path: str = Field(
        pattern=r"^[^/\s][^\x00-\x1f]*$",
        description="path that dvc.lock or a .dvc file names, relative to the project",
        examples=["data/digits"],
    )
    only: Sequence[FilePattern] = Field(
        default=(),
        description="list of patterns of the files to stage; left out: every file",
        examples=[["train-*.tar"]],
    )
    name: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9_][\w.-]*$",
        description="name of its folder beside a pipeline's other datasets; left out: the last part of its path",
        examples=["train"],
    )
    resources: Resources = Field(
        default=Resources(cpu=1, memory="1Gi"),
        description="CPUs and memory of the pod that stages it",
        examples=[Resources(cpu=1, memory="1Gi")],
    )

    def __init__(self, path: str, **settings: Any) -> None:  # noqa: ANN401 - checked by pydantic
        super().__init__(path=path, **settings)

    @property
    def source(self) -> Source:
        return Source(path=self.path, name=self.name or "", only=tuple(self.only))


def dataset_parameter(datasets: Sequence[Dataset]) -> str:
    """What `argosy.steps.pins.sources` reads, kept from Argo's substitution: one whole dataset is named by its path."""
    sources = tuple(one.source for one in datasets)
    path = sources[0].path
    if sources == (Source(path=path),) and not path.startswith(("[", "{")):
        return values.encode(path)
    return values.encode([one.model_dump(mode="json", exclude_defaults=True) for one in sources])


def staging_resources(datasets: Sequence[Dataset]) -> Resources:
    """One pod stages them all, one after the other: it gets the most that any of them asks for."""
    asked = [one.resources for one in datasets]
    return Resources(
        cpu=max((one.cpu for one in asked), key=quantities.cpus),
        memory=max((one.memory for one in asked), key=quantities.byte_count),
    )
