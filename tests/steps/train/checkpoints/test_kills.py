"""Killed at any moment: never more than one interval is lost, and a torn checkpoint is never loaded."""

import subprocess
import sys
from pathlib import Path

import pytest

DRILL = Path(__file__).with_name("drill.py")


@pytest.mark.parametrize(("size", "kills", "seed"), [(1, 170, 1), (2, 30, 2)])
def test_after_a_kill_at_any_moment_the_last_whole_checkpoint_is_resumed(size, kills, seed, tmp_path):
    command = [sys.executable, DRILL, tmp_path, str(size), str(kills), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    begun, half = map(int, done.stdout.split())
    assert begun > kills / 2
    assert half > kills / 10, "the kills come in the middle of saves"
    assert len(list(tmp_path.glob("checkpoints/step-*"))) <= 3, "what is kept stays few whatever is killed"
