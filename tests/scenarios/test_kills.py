"""Killed at any moment, a run goes on and does its work once."""

import os
import random
import signal
import subprocess

import psutil
import pytest

from argosy.pipelines.local.orphans import RUN_MARK

pytestmark = pytest.mark.timeout(900)

EPOCHS = ["-p", "epochs=60"]


def until(condition, process):
    """Wait for a condition that other processes bring about, while this one lives."""
    while not (met := condition()):
        assert process.poll() is None, process.communicate()
        try:
            process.wait(timeout=0.05)
        except subprocess.TimeoutExpired:
            continue
    return met


def checkpoints(project):
    return list(project.models.glob("*/checkpoints/step-*"))


def ranks(project):
    """The training processes of the project's run."""
    uid = project.run.workflow()["metadata"]["uid"]
    return [
        p for p in psutil.process_iter() if _mark(p) == uid and "argosy.steps.train.worker" in " ".join(p.cmdline())
    ]


def _mark(process):
    try:
        return process.environ().get(RUN_MARK)
    except psutil.Error:
        return None


def outputs(run, step):
    return next(one for one in run["steps"] if one["name"] == step)["outputs"]


def test_a_run_whose_runner_was_killed_goes_on_from_a_checkpoint(digits):
    with digits.start("run", "digits", *EPOCHS) as runner:
        until(lambda: checkpoints(digits), runner)
        runner.send_signal(signal.SIGKILL)
    staged = digits.run.status(digits.run.workflow()).nodes
    assert "interrupted" in digits.argosy("show").lower()

    run = digits.json("retry")
    assert run["phase"] == "Succeeded"
    assert int(outputs(run, "train")["resumed-at-step"]) > 0
    ended = digits.run.status(digits.run.workflow()).nodes
    stage = next(node for node in staged.values() if node.display_name == "stage(0)")
    assert ended[stage.id].finished_at == stage.finished_at, "stage ran again"
    assert len(digits.versions()) == 1


def test_a_killed_rank_is_an_infrastructure_failure_and_training_goes_on(digits):
    with digits.start("run", "digits", *EPOCHS, "--json") as runner:
        until(lambda: checkpoints(digits), runner)
        until(lambda: ranks(digits), runner)[0].kill()
        runner.communicate(timeout=400)
    assert runner.returncode == 0
    run = digits.json("show")
    nodes = {node["displayName"]: node for node in run["status"]["nodes"].values()}
    assert "exit code 75" in nodes["train(0)"]["message"]
    given = {p["name"]: p["value"] for p in nodes["train(1)"]["outputs"]["parameters"]}
    assert int(given["resumed-at-step"]) > 0
    assert len(digits.versions()) == 1


@pytest.mark.parametrize("seed", [1, 2])
def test_a_run_killed_at_random_moments_ends_with_one_version(digits, seed):
    moments = random.Random(seed)
    words = ["run", "digits", *EPOCHS]
    for _ in range(4):
        with digits.start(*words) as runner:
            try:
                runner.wait(timeout=moments.uniform(0.3, 25))
            except subprocess.TimeoutExpired:
                os.kill(runner.pid, signal.SIGKILL)
        words = ["retry", digits.run.name]
        if runner.returncode == 0:
            break
    else:
        assert digits.json("retry")["phase"] == "Succeeded"
    assert len(digits.versions()) == 1


def test_ctrl_c_stops_everything_saves_and_says_how_to_resume(digits):
    with digits.start("run", "digits", *EPOCHS) as runner:
        until(lambda: checkpoints(digits), runner)
        runner.send_signal(signal.SIGINT)
        stdout, stderr = runner.communicate(timeout=60)
    assert runner.returncode == 130
    assert f"argosy retry {digits.run.name}" in stdout + stderr
    assert ranks(digits) == []
    run = digits.json("retry")
    assert (run["phase"], len(digits.versions())) == ("Succeeded", 1)


def test_stop_ends_a_run_that_another_process_runs(digits):
    with digits.start("run", "digits", *EPOCHS) as runner:
        until(lambda: checkpoints(digits), runner)
        digits.argosy("stop", digits.run.name)
        runner.communicate(timeout=60)
    assert runner.returncode != 0
    assert "Stopped with strategy 'Stop'" in digits.argosy("show", digits.run.name)
