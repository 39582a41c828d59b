"""How a step's pod ends: its outputs, its record, its last word and its exit code."""

import errno
import os
import signal
import sys
import sysconfig
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

from argosy.steps import files, values
from argosy.steps.base import StepInput, StepOutput
from argosy.steps.cache.rights import FULL, REFUSED
from argosy.steps.contracts import RECORD, TERMINATION_LOG, ExitCode, option
from argosy.steps.errors import StepError, Terminated
from argosy.steps.gates import Answer, GateOutput

LAST_WORD_BYTES = 4096  # kubernetes: a container's termination message holds no more
TERMINATED = 128 + signal.SIGTERM
INTERRUPTED = 128 + signal.SIGINT
LIBRARIES = (*(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")), "<")
OWN_CODE = f"{Path(__file__).parent}{os.sep}"
NO_RIGHTS_OR_SPACE = {*FULL, *REFUSED}
DISK = {errno.EIO, errno.ESTALE}


def end(step: Callable[[], tuple[StepInput, StepOutput]]) -> int:
    """Runs a step, writes what it gives or why it gives nothing, and returns the exit code."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        inputs, outputs = step()
        write_outputs(inputs.output, outputs)
    except StepError as error:
        last_word(error.message)
        return error.exit_code
    except Terminated as stop:
        last_word(f"stopped by SIGTERM {stop}".rstrip())
        return TERMINATED
    except KeyboardInterrupt as stop:
        last_word(f"stopped by an interrupt {stop}".rstrip())
        return INTERRUPTED
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the pod's last word must name whatever it was
        return _uncaught(error)
    return _verdict(outputs)


def clear(folder: Path) -> None:
    """The output folder is there, and holds no record of an earlier attempt that could be taken for this one's."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / RECORD).unlink(missing_ok=True)


def write_outputs(folder: Path, outputs: StepOutput) -> None:
    """One file for each field, then the record that makes them count."""
    for field, value in outputs.model_dump(mode="json").items():
        files.write_text(folder / option(field), values.encode(value))
    files.write_text(folder / RECORD, outputs.model_dump_json(indent=2) + "\n")


def last_word(message: str) -> None:
    """Says why the step ended, on stderr and where Kubernetes looks for it."""
    sys.stderr.write(f"{message}\n")
    path = os.environ.get(TERMINATION_LOG)
    if not path:
        return
    data = message.encode()
    if len(data) > LAST_WORD_BYTES:
        data = data[:LAST_WORD_BYTES].decode(errors="ignore").encode()
    try:
        # The kubelet mounts this file: it can be written but not replaced.
        Path(path).write_bytes(data)
    except OSError as error:
        sys.stderr.write(f"{path}: cannot hold the termination message: {error.strerror}\n")


def described(error: BaseException) -> str:
    """`ValueError: boom (model.py:12)`: an exception, and where.

    That is the innermost line of the user's own code, else the note that argosy left, else its own innermost line.
    """
    name = type(error).__name__
    text = f"{name}: {error}" if str(error) else name
    frames = traceback.extract_tb(error.__traceback__)
    notes = getattr(error, "__notes__", [])
    if notes and not any(_is_users(frame) for frame in frames):
        return f"{text} ({notes[-1]})"
    frame = innermost(frames)
    return f"{text} ({frame.filename}:{frame.lineno})" if frame else text


def innermost(frames: Sequence[traceback.FrameSummary]) -> traceback.FrameSummary | None:
    """The innermost of the user's own code, else of argosy's, else of all; the last of the frames is the innermost."""
    users = [frame for frame in frames if _is_users(frame)]
    own = [frame for frame in frames if frame.filename.startswith(OWN_CODE)]
    return next(reversed(users or own or list(frames)), None)


def of_files(error: BaseException) -> tuple[ExitCode, str] | None:
    """How an error ends a step that is a lack of space or of rights, or a disk's own; None: it is neither."""
    if not isinstance(error, OSError):
        return None
    said = f"{error.filename2 or error.filename or 'a file'}: {error.strerror}"
    if error.errno in NO_RIGHTS_OR_SPACE:
        return ExitCode.CONFIGURATION, f"{said}; give the pod that space or right"
    if error.errno in DISK:
        return ExitCode.TEMPORARY, f"{said}; a disk or a network file system failed"
    return None


def _is_users(frame: traceback.FrameSummary) -> bool:
    return not frame.filename.startswith((OWN_CODE, *LIBRARIES))


def _uncaught(error: BaseException) -> int:
    if found := of_files(error):
        exit_code, words = found
        last_word(words)
        return exit_code
    traceback.print_exception(error)
    last_word(described(error))
    return ExitCode.CODE


def _verdict(outputs: StepOutput) -> int:
    if not isinstance(outputs, GateOutput):
        return ExitCode.OK
    if outputs.answer is not Answer.PASS:
        last_word(outputs.verdict.reason)
    if outputs.verdict.lets_pass:
        return ExitCode.OK
    return ExitCode.GATE_FAILED if outputs.answer is Answer.FAIL else ExitCode.GATE_INCONCLUSIVE


def _terminate(_signal: int, _frame: FrameType | None) -> None:
    # One is enough: a second must not cut short the cleaning up that the first began.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Terminated
