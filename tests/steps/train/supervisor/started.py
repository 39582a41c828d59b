"""The step `train` without data: `python started.py MEETING-SECONDS --field=value ...`. Its ranks are those of
`ranks.py`, or, with a script, real ones.
"""

import os
import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from argosy.steps import arguments, pod
from argosy.steps.contracts import TrainInput
from argosy.steps.train import step
from argosy.steps.train.supervisor import WORKER, Supervisor


def main(meeting_seconds, words):
    step.staged.data = lambda _inputs: nullcontext()

    def run():
        inputs = arguments.parsed(TrainInput, words)
        pod.clear(inputs.output)
        module = WORKER if inputs.script else "ranks"
        supervising = partial(Supervisor, module=module, meeting_seconds=meeting_seconds)
        return inputs, step.run(inputs, supervising)

    return pod.end(run)


if __name__ == "__main__":
    if group := os.environ.get("CONTROL_GROUP"):
        Path(group).write_text(str(os.getpid()))
    sys.exit(main(float(sys.argv[1]), sys.argv[2:]))
