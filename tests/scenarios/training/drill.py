"""Kills trainings at random moments, and starts them again until they end: `drill.py --kills 200 --seed 7`.

Each is the step `train`, of two ranks. What is killed, and when, is drawn: the supervisor, torchrun or one rank with
SIGKILL, or the supervisor with SIGTERM; while they start, between any two steps, in a save, in the export. Prints what
was found as JSON, and a line for each kill on stderr; ends with exit code 1 at a breach of what findings.py checks.
"""

import argparse
import json
import random
import shutil
import signal
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
from findings import Findings
from records import Record
from trainingnode import STEPS_PER_EPOCH, TRAINING, Node, found, step_of

VICTIMS = ("supervisor", "launcher", "rank 0", "rank 1", "SIGTERM")
SETTINGS = {
    "checkpoint_every_seconds": 0.15,
    "hyperparameters.step_seconds": 0.03,
    "loop": '{"clip_norm": 0.5, "warmup_steps": 5, "schedule": "cosine", "average": 0.9, "evaluate_every_epochs": 4}',
}

LOOK_SECONDS = 0.002


@dataclass(frozen=True)
class Moment:
    """So long after so many of an attempt's events."""

    victim: str
    event: str
    """`step` or `saving`, see recorded.py."""
    count: int
    seconds: float

    @classmethod
    def drawn(cls, draws):
        event, counts, longest = draws.choices(
            [("step", (0, 0), 8), ("step", (1, 25), 0.1), ("saving", (1, 5), 0.02)], (15, 50, 35)
        )[0]
        return cls(draws.choice(VICTIMS), event, draws.randint(*counts), draws.uniform(0, longest))


@dataclass(frozen=True)
class Ended:
    """An attempt."""

    killed: str
    """Which process was; empty: none, it had ended."""
    exit_code: int
    said: str
    record: Record
    committed: int
    """Step of the newest checkpoint that counts, as it lies in the model store."""


class Drill:
    def __init__(self, folder, *, kills, seed, epochs):
        self._node, self._kills, self._draws = Node(folder), kills, random.Random(seed)
        self._settings = {**SETTINGS, "hyperparameters.epochs": epochs}
        self._total = epochs * STEPS_PER_EPOCH
        self._killed = 0
        whole = self._attempt("whole", 0, None)
        self.findings = Findings(
            self._node.models, whole, samples=TRAINING, per_epoch=STEPS_PER_EPOCH, total=self._total
        )

    def run(self):
        """Until there were kills enough, or a breach."""
        while self._killed < self._kills and not self.findings.breaches:
            self._train(f"r{self.findings.trainings}")

    def _train(self, run):
        """One training, killed until it ends or there were kills enough."""
        attempts = []
        while not attempts or attempts[-1].exit_code != 0:
            moment = Moment.drawn(self._draws) if self._killed < self._kills else None
            attempts.append(ended := self._attempt(run, len(attempts), moment))
            self._killed += bool(ended.killed)
            self.findings.add(attempts)
            sys.stderr.write(f"{self._killed} {ended.record.path.name} {moment} -> {ended.killed or 'ended'}, "
                             f"{ended.exit_code}, {ended.record.first}..{ended.record.last}\n")  # fmt: skip
            if self.findings.breaches:
                return
        self.findings.finish(run, attempts)

    def _attempt(self, run, number, moment):
        record = Record(self._node.folder / f"{run}.{number}")
        with self._node.start(run, environment=record.environment, **self._settings) as process:
            killed = self._kill(process, record, moment) if moment else ""
            _, said = process.communicate(timeout=900)  # until the last of its processes has ended
        committed = max(map(step_of, self._node.checkpoints(run)), default=0)
        return Ended(killed, process.returncode, said, record.read(), committed)

    def _kill(self, process, record, moment):
        while process.poll() is None and record.count(moment.event) < moment.count:
            if record.reached(self._total):  # it exports what it has
                time.sleep(self._draws.uniform(0, 4))
                break
            time.sleep(LOOK_SECONDS)
        time.sleep(moment.seconds)
        victim = found(process, moment.victim)
        if process.poll() is not None:
            return ""
        if moment.victim == "SIGTERM":
            process.send_signal(signal.SIGTERM)
            return "SIGTERM"
        if victim is None:
            process.kill()
            return "supervisor"
        try:
            victim.kill()
        except psutil.NoSuchProcess:
            return ""
        return moment.victim


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--epochs", type=int, default=10, help="of each training; default: %(default)s")
    asked = parser.parse_args()
    began, folder = time.monotonic(), Path(tempfile.mkdtemp(prefix="drill-"))
    drill = Drill(folder, **vars(asked))
    with suppress(KeyboardInterrupt):  # which leaves what was found so far
        drill.run()
    told = {**vars(asked), "seconds": round(time.monotonic() - began), **drill.findings.told()}
    print(json.dumps(told, indent=2))
    if drill.findings.breaches:
        sys.stderr.write(f"{folder} has what was breached\n")
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
