"""How the nodes of a gang ended, and which of the endings is the cause of the others."""

import signal
from collections.abc import Iterable
from dataclasses import dataclass

from argosy.steps.contracts import ExitCode, FailureClass, failure_class
from argosy.steps.errors import StepError, Terminated

ONES_OWN = {FailureClass.INFRASTRUCTURE: ExitCode.TEMPORARY, FailureClass.MEMORY: ExitCode.OUT_OF_MEMORY}
"""Class -> the exit code for an ending whose own is none of argosy's: of a signal, or of the container runtime."""


@dataclass(frozen=True)
class Ending:
    """A node that ended badly."""

    node: int
    at: float
    """Seconds since the epoch."""
    exit_code: int
    message: str
    """The last word of what ended."""


def cause(endings: Iterable[Ending]) -> Ending | None:
    """The failure that the others follow from.

    A node's own fault comes before what may be its echo: when one node ends, the collectives of the others fail, and
    those fail as infrastructure does.
    """
    return min(endings, key=lambda one: (is_echo(one), one.at, one.node), default=None)


def is_echo(ending: Ending) -> bool:
    """Whether another node's end may have made this one."""
    return failure_class(ending.exit_code) is FailureClass.INFRASTRUCTURE


def failure(ending: Ending) -> StepError:
    """The gang's failure, in the node's own words."""
    return StepError(_exit_code(ending.exit_code), words(ending))


def stopped(by: BaseException, endings: Iterable[Ending]) -> BaseException:
    """What ends a gang that was asked to stop: the same, with a node's word on how the training was left.

    All were asked at once, so which of them ended first says nothing: a node's own fault speaks, else the first node.
    """
    found = min(endings, key=lambda one: (is_echo(one), one.node), default=None)
    return type(by)(f"({words(found)})") if found and isinstance(by, Terminated | KeyboardInterrupt) else by


def words(ending: Ending) -> str:
    """`node 1: rank 2: ValueError: boom`."""
    own, whose = ending.message.strip(), f"node {ending.node}: "
    said = own or f"ended with {described(ending.exit_code)}, and said nothing"
    return said if said.startswith(whose) else f"{whose}{said}"


def described(exit_code: int) -> str:
    """`exit code 139 (SIGSEGV)`."""
    try:
        return f"exit code {exit_code} ({signal.Signals(exit_code - 128).name})"
    except ValueError:
        return f"exit code {exit_code}"


def _exit_code(code: int) -> ExitCode:
    try:
        return ExitCode(code)
    except ValueError:
        return ONES_OWN.get(failure_class(code), ExitCode.CODE)
