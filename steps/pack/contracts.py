"""What packing takes and gives."""

from pathlib import Path

from pydantic import Field

from argosy.steps.base import Split, StepInput, StepOutput


class PackInput(StepInput):
    """A folder of small files, to be packed into WebDataset shards."""

    folder: Path = Field(
        description="folder whose files are packed: those with one path up to the first dot are a sample"
    )
    out: Path = Field(
        description="folder that receives SPLIT-000000.tar and so on; it keeps the shards of other splits"
    )
    split: Split = Field(default="train", description="split that the samples belong to")
    bytes: int = Field(default=256_000_000, ge=1, description="bytes that a shard may have, unless one sample has more")


class PackOutput(StepOutput):
    samples: int = Field(ge=1, description="samples that were written, and read back")
    bytes: int = Field(ge=0, description="bytes of their files")
    shards: int = Field(ge=1, description="shards that hold them")
