"""A rank that does nothing but what the test says: `--hyperparameters.event=boom --hyperparameters.at=12 ...`."""

import ctypes
import hashlib
import os
import signal
import sys
import time
from pathlib import Path

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.train.attempt import Attempt, Outcome

RANK = int(os.environ["RANK"])


class OutOfMemoryError(RuntimeError):
    """As torch's own, which needs a GPU."""


OutOfMemoryError.__module__ = "torch"


def boom():
    raise ValueError("boom")


def lost():
    raise RuntimeError("[pair.cc:534] gloo: Connection closed by peer [127.0.0.1]:8744")


def gpu():
    raise OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")


def nan():
    raise StepError(ExitCode.CODE, "the loss is nan")


def crash():
    ctypes.string_at(0)


def leave():
    os._exit(7)


def code():
    sys.exit(int(ExitCode.DATA))


def kill():
    os.kill(os.getpid(), signal.SIGKILL)


def kill_torchrun():
    os.kill(os.getppid(), signal.SIGKILL)
    hang()


def freeze():
    os.kill(os.getpid(), signal.SIGSTOP)


def unreachable():
    raise StepError(ExitCode.TEMPORARY, "the store does not answer")


def hang():
    while True:
        time.sleep(0.05)


def eat():
    eaten = []
    while True:
        eaten.append(b"x" * (16 << 20))


def rank_0_lost_rank_1_booms():
    if RANK == 0:
        lost()
    time.sleep(0.5)
    boom()


def rank_1_hangs_in_a_collective_of_all():
    from torch import distributed, zeros

    if RANK == 1:
        hang()
    distributed.all_reduce(zeros(1))


def collective_boom():
    from torch import distributed, zeros

    if RANK == 1:
        boom()
    distributed.all_reduce(zeros(1))


def collective_awaits():
    from torch import distributed, zeros

    if RANK == 1:
        Path("awaiting-1").touch()
        hang()
    distributed.all_reduce(zeros(1))


def collective():
    """All ranks meet here; one dies on the way."""
    from torch import distributed, zeros

    if RANK == 1:
        kill()
    distributed.all_reduce(zeros(1))


def saved(run):
    """Saving takes as long as a test likes: until it writes this file, where it said that it would."""
    if (run / "slow").exists():
        (run / "saving").touch()
        while not (run / "saved").exists():
            time.sleep(0.02)
    return True


def train(attempt):
    asked = {name.replace("-", "_"): value for name, value in attempt.inputs.hyperparameters.items()}
    total, every, at = (int(asked.get(name, default)) for name, default in (("total", 30), ("every", 10), ("at", 12)))
    ranks = [int(rank) for rank in asked.get("hit", "1").split(",")]
    event = globals().get(asked.get("event", ""))
    if "collective" in asked.get("event", ""):
        from torch import distributed

        distributed.init_process_group("gloo")
    run = attempt.inputs.models / attempt.inputs.run
    kept, begun = run / "kept", run / f"begun-{RANK}"
    step = resumed = int(kept.read_text()) if kept.exists() else 0
    stop, stopping = attempt.follow_leash(), (run if "stop_together" in asked else attempt.folder) / "stopping"
    beat = attempt.beat(RANK)
    attempt.report_checkpoint(resumed)
    begun.touch()
    os.chdir(run)
    while step < total and not (run / "enough").exists():
        if event and step == at and RANK in ranks:
            event()
        if stop.is_set():  # one rank hears it, and tells the others
            stopping.touch()
        asked_to_stop = stopping.exists()
        if asked_to_stop and asked.get("event") == "boom_once_stopping" and RANK == 0:
            boom()
        time.sleep(float(asked.get("seconds", "0.02")))
        step += 1
        beat.at(step)
        stopped = asked_to_stop and asked.get("deaf") != str(RANK) and saved(run)
        if RANK == 0 and (stopped or step % every == 0):
            attempt.fence()
            kept.write_text(str(step))
            attempt.report_checkpoint(step)
        if stopped:
            return Outcome(resumed_at_step=resumed, step=step)
    model = run / "model/model.pt2"
    if RANK == 0:
        model.parent.mkdir(exist_ok=True)
        model.write_bytes(b"model")
    return Outcome(resumed_at_step=resumed, step=step, model_hash=hashlib.sha256(b"model").hexdigest())


def main(attempt):
    try:
        outcome = train(attempt)
    except BaseException as error:  # noqa: BLE001 - as the real worker does
        attempt.report_failure(RANK, error)
        os._exit(1)
    asked = attempt.inputs.hyperparameters
    if RANK == 0 and "mute" not in asked:
        attempt.report_outcome(outcome)
        globals().get(asked.get("afterwards"), bool)()


if __name__ == "__main__":
    main(Attempt(Path(sys.argv[1])))
