"""The entry of every pod: `python -m argosy.steps NAME --field-name=value ...`.

A step's own module is imported only when that step runs: staging needs no torch, a gate no dvc.
"""

import importlib
import os
import sys
from collections.abc import Callable, Sequence

from argosy.steps import arguments, pod, program
from argosy.steps.base import StepInput, StepOutput
from argosy.steps.contracts import CONTRACTS, ExitCode, Step

RUNS = {
    Step.CODE: "argosy.steps.code.step",
    Step.RESOLVE: "argosy.steps.stage.resolving",
    Step.ITEMISE: "argosy.steps.stage.itemising",
    Step.STAGE: "argosy.steps.stage.step",
    Step.ENSURE: "argosy.steps.stage.ensuring",
    Step.TRAIN: "argosy.steps.train.step",
    Step.GANG: "argosy.steps.gang.step",
    Step.ACCURACY_GATE: "argosy.steps.gate.accuracy",
    Step.SLICES_GATE: "argosy.steps.gate.slices",
    Step.CHAMPION_GATE: "argosy.steps.gate.champion",
    Step.LATENCY_GATE: "argosy.steps.gate.latency",
    Step.MEMORY_GATE: "argosy.steps.gate.memory",
    Step.SIZE_GATE: "argosy.steps.gate.size",
    Step.PARITY_GATE: "argosy.steps.gate.parity",
    Step.CUSTOM_GATE: "argosy.steps.gate.custom",
    Step.PUBLISH: "argosy.steps.publish.step",
    Step.RECIPE: "argosy.steps.publish.reading",
    Step.ROLLBACK: "argosy.steps.publish.rollback",
}
"""Step -> the module whose `run(inputs) -> outputs` does its work."""

USAGE = f"usage: python -m argosy.steps {{{','.join(Step)}}} --NAME=VALUE ...; `NAME --help` lists what a step takes"


def main(words: Sequence[str]) -> int:
    if not words or words[0] in {"-h", "--help"}:
        sys.stdout.write(f"{USAGE}\n")
        return ExitCode.OK if words else ExitCode.USAGE
    name, *rest = words
    if name not in list(Step):
        pod.last_word(f"{name}: no such step{arguments.nearest(name, Step)}\n{USAGE}")
        return ExitCode.USAGE
    kind = CONTRACTS[Step(name)][0]
    if program.HELP & {*rest}:
        sys.stdout.write(f"{arguments.help_text(f'argosy.steps {name}', kind)}\n")
        return ExitCode.OK

    def run(inputs: StepInput) -> StepOutput:
        work: Callable[[StepInput], StepOutput] = importlib.import_module(RUNS[Step(name)]).run
        return work(inputs)

    return program.ended(kind, run, rest)


if __name__ == "__main__":
    code = main(sys.argv[1:])
    if code == pod.TERMINATED:
        # Python's own exit would wait for a thread that reads from a network file system which does not answer.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
