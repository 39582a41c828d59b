"""`python -m argosy.steps.pack --folder=FOLDER --out=FOLDER --output=FOLDER`: packs on this machine, or in a pod."""

import sys

from argosy.steps import program
from argosy.steps.pack.contracts import PackInput, PackOutput


def _run(inputs: PackInput) -> PackOutput:
    from argosy.steps.pack import pack

    return pack.run(inputs)


if __name__ == "__main__":
    sys.exit(program.main("argosy.steps.pack", PackInput, _run, sys.argv[1:]))
