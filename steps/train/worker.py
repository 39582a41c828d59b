"""A rank: `python -m argosy.steps.train.worker ATTEMPT-FOLDER`, started by torchrun."""

import os
import runpy
import sys
from pathlib import Path

from argosy.steps.contracts import ExitCode, TrainInput
from argosy.steps.errors import StepError
from argosy.steps.train.attempt import Attempt
from argosy.steps.train.beats import ENDED
from argosy.steps.train.supervision import supervision


def main(attempt: Attempt) -> None:
    above = supervision()  # from here on the rank is seen, and ends with its supervisor, whatever a script does
    assert above is not None
    try:
        _train(attempt.inputs)
    except BaseException as error:  # noqa: BLE001 - the supervisor must learn of whatever it was
        if not (isinstance(error, SystemExit) and error.code in (None, 0)):
            attempt.report_failure(int(os.environ["RANK"]), error)
            # Python's own exit would wait for collectives that can no longer end.
            os._exit(1)
    above.signs.rest(ENDED)


def _train(inputs: TrainInput) -> None:
    if inputs.script:
        _run(inputs.script)
        return
    from argosy.steps.train.session import joined
    from argosy.steps.train.trainer import Trainer

    with joined() as session:
        Trainer(session, inputs).train()


def _run(script: str) -> None:
    """Runs the user's script as Python itself would, with the project's modules beside those in the script's folder.

    Raises StepError (USAGE) when there is none.
    """
    path = Path(script)
    if not path.is_file():
        raise StepError(ExitCode.USAGE, f"--script={script}: there is no such file in {Path.cwd()}")
    sys.argv = [script]
    sys.path.insert(0, str(path.resolve().parent))
    try:
        runpy.run_path(script, run_name="__main__")
    except Exception as error:
        error.add_note(script)  # for one that is from no line of it, as with bytes that are no Python
        raise


if __name__ == "__main__":
    main(Attempt(Path(sys.argv[1])))
