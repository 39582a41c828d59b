"""Kills a training at random moments: `drill.py FOLDER RANKS KILLS SEED`.

After each kill the next one resumes. It must come to a step that was saved whole, and not before the last but one that
was begun: the last one's save waited until that one counted. Prints how many steps were begun, and how often the kill
came in the middle of a save.
"""

import os
import random
import signal
import sys
import time
from pathlib import Path

import torch
import zygote


def words(said):
    return [line.split() for line in said.read_text().splitlines()] if said.exists() else []


def killed_once(folder, size, saves, delay, meeting):
    """Forks ranks, and kills them so long after so many saves. What they answered, if one failed before, and said."""
    said = folder / "said"
    said.write_text("")
    ranks = [
        zygote.forked("saves_until_killed", rank, size, meeting, (str(folder / "checkpoints"), str(said)))
        for rank in range(size)
    ]
    limit = time.monotonic() + 60
    while len(words(said)) <= saves and time.monotonic() < limit and not ended(ranks):
        time.sleep(0.001)
    time.sleep(delay)
    for child, _ in ranks:
        os.kill(child, signal.SIGKILL)
    failures = []
    for child, pipe in ranks:
        os.waitpid(child, 0)
        with os.fdopen(pipe) as answer:
            failures.append(answer.read())
    return "".join(failures), words(said)


def ended(ranks):
    return any(os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) for child, _ in ranks)


def main(folder, size, kills, seed):
    torch.set_num_threads(1)
    moments = random.Random(seed)
    begun = half = 0
    for number in range(kills):
        moment = moments.randrange(3), moments.uniform(0, 0.03)
        failure, said = killed_once(folder, size, *moment, folder / f"meeting-{number}")
        if failure or not said:
            sys.exit(f"kill {number}: {failure or 'nobody resumed'}")
        resumed = int(said[0][1])
        if not begun - 1 <= resumed <= begun + 1:
            sys.exit(f"kill {number}: resumed at {resumed}, but {begun} was begun")
        begun = max(resumed, *(int(step) for _, step in said))
        half += any((folder / "checkpoints").glob(".partial-*"))
    print(begun, half)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
