"""What every program of the steps does around its work: help, arguments, and the end of a pod."""

import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

from argosy.steps import arguments, home, pod
from argosy.steps.base import StepInput, StepOutput
from argosy.steps.contracts import ExitCode

Inputs = TypeVar("Inputs", bound=StepInput)
HELP = {"-h", "--help"}


def main(name: str, kind: type[Inputs], run: Callable[[Inputs], StepOutput], words: Sequence[str]) -> int:
    """The program of this name, as after `python -m`; returns its exit code."""
    if not words or HELP & {*words}:
        sys.stdout.write(f"{arguments.help_text(name, kind)}\n")
        return ExitCode.OK if words else ExitCode.USAGE
    return ended(kind, run, words)


def ended(kind: type[Inputs], run: Callable[[Inputs], StepOutput], words: Sequence[str]) -> int:
    """Does the work that the words ask for; returns the exit code."""

    def work() -> tuple[StepInput, StepOutput]:
        inputs = arguments.parsed(kind, words)
        pod.clear(inputs.output)
        return inputs, run(inputs)

    home.ensure()
    return pod.end(work)
