"""`python -m argosy.steps.shards.count --folder=FOLDER --split=SPLIT --output=FOLDER`: how many samples a split has."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from pydantic import Field

from argosy.steps import arguments, home, pod
from argosy.steps.base import Split, StepInput, StepOutput


class CountInput(StepInput):
    """A split of a staged dataset."""

    folder: Path = Field(description="folder of the dataset, such as one of CACHE/datasets")
    split: Split = Field(description="split whose samples are counted")


class CountOutput(StepOutput):
    samples: int = Field(ge=0, description="samples of the split")


def main(words: Sequence[str]) -> int:
    home.ensure()
    return pod.end(lambda: _counted(words))


def _counted(words: Sequence[str]) -> tuple[CountInput, CountOutput]:
    from argosy.steps.shards.indexing import index

    started = time.monotonic()
    inputs = arguments.parsed(CountInput, words)
    pod.clear(inputs.output)
    samples = len(index(inputs.folder, inputs.split))
    summary = f"{samples:,} samples in {inputs.split}"
    return inputs, CountOutput(summary=summary, seconds=time.monotonic() - started, samples=samples)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
