"""Several nodes under the real step: what each of them knows."""

import re
import socket

from argosy.steps.contracts import GANG, LEADER, NODE_RANK, ExitCode

SCRIPT = """
import torch
from argosy.steps.train.session import joined

with joined() as session:
    session.resume(model=torch.nn.Linear(2, 1))
    for step in session.steps(1000):
        session.report(loss=1.0)
        if step == 3:
            session.keep(1.0)
        # The next save waits for the one before: it counts by then.
        if step == 6:
            session.keep(1.0)
        if step == 7 and session.rank == 1:
            raise ValueError("boom")
"""


def test_every_node_knows_the_newest_checkpoint(training, start_step, tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        leader = f"127.0.0.1:{free.getsockname()[1]}"
    common = {
        **training, "models": tmp_path / "models", "run": "r", "script": tmp_path / "script.py", "nodes": 2, "ranks": 1,
        "checkpoint-every-seconds": 1000,
    }  # fmt: skip
    nodes = [
        start_step(
            "train",
            env={NODE_RANK: str(node), LEADER: leader, GANG: "g"},
            output=tmp_path / f"node-{node}",
            **common,
        )
        for node in range(2)
    ]
    said = [process.communicate(timeout=120)[1] for process in nodes]
    assert nodes[1].returncode == ExitCode.CODE, said[1]
    words = r"rank 1: ValueError: boom \(.*script.py:\d+\); at step 7, last checkpoint [47]"
    assert re.fullmatch(words, said[1].splitlines()[-1]), said[1]
