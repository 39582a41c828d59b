"""The step `train` with the ranks of `ranks.py` and no data: `python started.py MEETING-SECONDS --field=value ...`."""

import os
import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from argosy.steps import arguments, pod
from argosy.steps.contracts import TrainInput
from argosy.steps.train import step
from argosy.steps.train.supervisor import Supervisor


def main(meeting_seconds, words):
    step.staged.data = lambda _inputs: nullcontext()
    supervising = partial(Supervisor, module="ranks", meeting_seconds=meeting_seconds)

    def run():
        inputs = arguments.parsed(TrainInput, words)
        pod.clear(inputs.output)
        return inputs, step.run(inputs, supervising)

    return pod.end(run)


if __name__ == "__main__":
    if group := os.environ.get("CONTROL_GROUP"):
        Path(group).write_text(str(os.getpid()))
    sys.exit(main(float(sys.argv[1]), sys.argv[2:]))
