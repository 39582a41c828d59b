"""How a step says that it cannot go on: an exit code of the one table, and one line for a person."""

from argosy.steps.contracts import ExitCode


class StepError(Exception):
    """What was wrong, where, and what to do, in one line: no traceback is shown for it."""

    def __init__(self, exit_code: ExitCode, message: str) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.message = message


def data_error(message: str) -> StepError:
    """The data is missing, damaged or not what was asked for."""
    return StepError(ExitCode.DATA, message)


def configuration_error(message: str) -> StepError:
    """What was asked for cannot be had here."""
    return StepError(ExitCode.CONFIGURATION, message)


class Terminated(BaseException):
    """SIGTERM arrived. Whoever holds something half made removes it while this passes by."""
