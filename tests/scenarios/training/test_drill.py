"""Killed at any moment, a whole training ends as if it had not been; the drill that shows it would see it if not."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
KILLS = 6


@pytest.mark.timeout(1200)
def test_trainings_that_are_killed_at_random_moments_end_as_one_that_is_not():
    command = [sys.executable, HERE / "drill.py", f"--kills={KILLS}", "--seed=1", "--epochs=4"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    found = json.loads(done.stdout)
    ends = found["killed"].pop("none, it had ended")
    assert sum(found["killed"].values()) == KILLS
    assert found["attempts"] == KILLS + ends
    assert found["trainings that ended"] == found["of these equal to the uninterrupted one bit for bit"] > 0
    assert found["breaches"] == []
