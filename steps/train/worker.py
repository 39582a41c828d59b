"""A rank: `python -m argosy.steps.train.worker ATTEMPT-FOLDER`, started by torchrun."""

import os
import runpy
import sys
from pathlib import Path

from argosy.steps.contracts import ExitCode, TrainInput
from argosy.steps.errors import StepError
from argosy.steps.train.attempt import Attempt


def main(attempt: Attempt) -> None:
    try:
        _train(attempt.inputs)
    except BaseException as error:  # noqa: BLE001 - the supervisor must learn of whatever it was
        if isinstance(error, SystemExit) and error.code in (None, 0):
            return
        attempt.report_failure(int(os.environ["RANK"]), error)
        # Python's own exit would wait for collectives that can no longer end.
        os._exit(1)


def _train(inputs: TrainInput) -> None:
    from argosy.steps.train.surroundings import supervision

    supervision()  # from here on the rank ends with its supervisor, whatever a script does
    if inputs.script:
        _run(inputs.script)
        return
    from argosy.steps.train.session import joined
    from argosy.steps.train.trainer import Trainer

    with joined() as session:
        Trainer(session, inputs).train()


def _run(script: str) -> None:
    """Runs the user's script as Python itself would. Raises StepError (USAGE) when there is none."""
    path = Path(script)
    if not path.is_file():
        raise StepError(ExitCode.USAGE, f"--script={script}: there is no such file in {Path.cwd()}")
    sys.argv = [script]
    sys.path[0] = str(path.resolve().parent)
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main(Attempt(Path(sys.argv[1])))
