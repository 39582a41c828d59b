"""An epoch's samples are seen once each, though the number of ranks changes in its midst."""

import signal
from collections import Counter

from argosy.steps import digits_data

RECORDING = """
import os, time
from pathlib import Path
from argosy.steps.digits import Digits

class Recording(Digits):
    def sample(self, members):
        with Path(os.environ["SEEN"], f"{os.getpid()}-of-{os.environ['WORLD_SIZE']}").open("ab") as file:
            file.write(members["pixels"])
        return super().sample(members)

    def loss(self, outputs, targets):
        time.sleep(0.15)  # what a larger model would take
        return super().loss(outputs, targets)
"""


def test_four_ranks_then_two_then_three_keep_the_samples_of_an_epoch(supervised, tmp_path, monkeypatch):
    (tmp_path / "recording.py").write_text(RECORDING)
    seen = tmp_path / "seen"
    seen.mkdir()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("SEEN", str(seen))
    run = {"run": "r", "task": "recording:Recording", "hyperparameters.epochs": 1, "hyperparameters.batch-size": 8}
    for ranks in (4, 2):
        supervised.stopped(signal.SIGTERM, least=2, ranks=ranks, **run)
    assert supervised.finished(ranks=3, **run).steps == 40
    assert {path.name.rpartition("-")[2] for path in seen.iterdir()} == {"4", "2", "3"}
    pixels = b"".join(path.read_bytes() for path in seen.iterdir())
    counted = Counter(pixels[start : start + 64] for start in range(0, len(pixels), 64))
    splits = digits_data.splits()
    training = [sample[1] for sample in splits["train"][:320]]
    others = {sample[1] for sample in splits["validation"]}
    assert {key: count for key, count in counted.items() if key not in others} == Counter(training)
