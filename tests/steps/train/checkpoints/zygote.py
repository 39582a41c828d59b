"""Ranks that start at once: forks of a process that has imported torch, and never computed with it.

Reads lines of JSON, `[program, ranks, arguments]`, and answers each with one: what every rank's program returned. The
programs are the functions of `programs.py`, called with their World and the arguments.
"""

import json
import os
import sys
import tempfile
import traceback
from pathlib import Path

import programs
import torch
from torch import distributed

from argosy.steps.train.world import World


def forked(program, rank, size, meeting, arguments):
    """Starts a rank; the end of a pipe that its answer comes from, and its process id."""
    reads, writes = os.pipe()
    if child := os.fork():
        os.close(writes)
        return child, reads
    os.close(reads)
    try:
        answer = run(program, rank, size, meeting, arguments)
    except BaseException as error:  # noqa: BLE001 - the test is told
        answer = {"error": str(error), "kind": type(error).__name__, "trace": traceback.format_exc()}
    with os.fdopen(writes, "w") as pipe:
        json.dump(answer, pipe)
    os._exit(0)


def run(program, rank, size, meeting, arguments):
    if size > 1:
        distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=size)
    return getattr(programs, program)(World(rank, size, torch.device("cpu")), *arguments)


def together(program, size, arguments):
    with tempfile.TemporaryDirectory() as folder:
        meeting = Path(folder) / "meeting"
        ranks = [forked(program, rank, size, meeting, arguments) for rank in range(size)]
        answers = []
        for child, pipe in ranks:
            with os.fdopen(pipe) as answer:
                answers.append(json.loads(answer.read() or "null"))
            os.waitpid(child, 0)
    return answers


if __name__ == "__main__":
    torch.set_num_threads(1)
    for line in sys.stdin:
        print(json.dumps(together(*json.loads(line))), flush=True)
