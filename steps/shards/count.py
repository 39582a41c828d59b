"""`python -m argosy.steps.shards.count --folder=FOLDER --split=SPLIT --output=FOLDER`: how many samples a split has."""

import sys
import time
from pathlib import Path

from pydantic import Field

from argosy.steps import program
from argosy.steps.base import Split, StepInput, StepOutput


class CountInput(StepInput):
    """A split of a staged dataset."""

    folder: Path = Field(description="folder of the dataset, such as one of CACHE/datasets")
    split: Split = Field(description="split whose samples are counted")


class CountOutput(StepOutput):
    samples: int = Field(ge=0, description="samples of the split")


def run(inputs: CountInput) -> CountOutput:
    """Raises StepError (DATA) for shards that are missing or damaged."""
    from argosy.steps.shards.indexing import index

    started = time.monotonic()
    samples = len(index(inputs.folder, inputs.split))
    summary = f"{samples:,} samples in {inputs.split}"
    return CountOutput(summary=summary, seconds=time.monotonic() - started, samples=samples)


if __name__ == "__main__":
    sys.exit(program.main("argosy.steps.shards.count", CountInput, run, sys.argv[1:]))
