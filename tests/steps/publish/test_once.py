"""Publishing once and in order: killed at random moments, raced by many publishers, and behind a troubled server."""

import json
import multiprocessing
import subprocess
import sys
from pathlib import Path

import pytest

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.publish import step, turn

FORK = multiprocessing.get_context("fork")
PUBLISHERS = 20


def test_publishes_killed_at_random_moments_and_tried_again_leave_one_whole_version_for_each_run():
    words = [sys.executable, Path(__file__).with_name("killing.py"), "--kills", "8"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    state = json.loads(done.stdout)
    assert state["kills"] >= 8
    assert len(state["uids"]) == len(set(state["uids"])) == state["runs"]
    assert state["alias"] == state["last"]
    assert state["torn"] == state["running"] == 0
    assert state["statuses"] == ["READY"]
    assert state["models"]


def until_done(made):
    """As a workflow does: what failed for a time is tried again."""
    while True:
        try:
            return step.run(made)
        except StepError as error:
            if error.exit_code != ExitCode.TEMPORARY:
                raise


def together(inputs):
    processes = [FORK.Process(target=until_done, args=(made,)) for made in inputs]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert {process.exitcode for process in processes} == {0}


@pytest.fixture
def eager(monkeypatch):
    """Publishers that wait for one another look often."""
    monkeypatch.setattr(turn, "LOOK_SECONDS", 0.1)


@pytest.mark.usefixtures("eager")
def test_twenty_runs_that_publish_at_once_have_a_version_each_and_the_last_has_the_alias(inputs, mlflow_client):
    together([inputs(f"uid-{number}") for number in range(PUBLISHERS)])
    found = mlflow_client.search_model_versions("name = 'digits'")
    assert {one.tags["argosy.run_uid"] for one in found} == {f"uid-{number}" for number in range(PUBLISHERS)}
    assert len(found) == len({one.run_id for one in found}) == len({one.source for one in found}) == PUBLISHERS
    last = max(int(one.version) for one in found)
    assert int(mlflow_client.get_model_version_by_alias("digits", "champion").version) == last
    # Each displaced the one before it: none was skipped, none went first.
    replaced = {int(one.version): one.tags.get("argosy.replaces") for one in found}
    numbers = sorted(replaced)
    assert [replaced[number] for number in numbers] == [None, *map(str, numbers[:-1])]


@pytest.mark.usefixtures("eager")
def test_twenty_publishers_of_one_run_at_once_leave_one_version_one_model_and_no_run_that_goes_on(
    inputs, mlflow_client
):
    together([inputs()] * PUBLISHERS)
    (version,) = mlflow_client.search_model_versions("name = 'digits'")
    assert version.version == mlflow_client.get_model_version_by_alias("digits", "champion").version
    experiment = mlflow_client.get_experiment_by_name("digits").experiment_id
    (logged,) = mlflow_client.search_logged_models([experiment])
    assert (logged.status, logged.artifact_location) == ("READY", version.source)
    runs = {run.info.run_id: run.info.status for run in mlflow_client.search_runs([experiment])}
    assert runs.pop(version.run_id) == "FINISHED"
    assert "RUNNING" not in runs.values()


def test_a_second_version_that_a_late_request_made_is_removed_by_the_next_publisher(inputs, mlflow_client):
    step.run(inputs("uid-1"))
    (first,) = mlflow_client.search_model_versions("name = 'digits'")
    late = mlflow_client.create_model_version("digits", first.source, first.run_id, tags={"argosy.run_uid": "uid-1"})
    assert int(mlflow_client.get_model_version_by_alias("digits", "champion").version) == first.version
    step.run(inputs("uid-2"))
    found = mlflow_client.search_model_versions("name = 'digits'")
    assert late.version not in {one.version for one in found}
    assert sorted(one.tags["argosy.run_uid"] for one in found) == ["uid-1", "uid-2"]


def test_a_publisher_whose_upload_another_of_the_same_run_has_removed_ends_with_that_ones_version(
    inputs, mlflow_client, monkeypatch
):
    from mlflow import MlflowClient

    upload, racing = MlflowClient.log_model_artifacts, []

    def is_overtaken(self, *words):
        if not racing:
            racing.append(None)
            racing[0] = step.run(inputs())
        return upload(self, *words)

    monkeypatch.setattr(MlflowClient, "log_model_artifacts", is_overtaken)
    slower = step.run(inputs())
    assert (slower.version, slower.champion) == (racing[0].version, racing[0].champion) == (1, 1)
    (version,) = mlflow_client.search_model_versions("name = 'digits'")
    (logged,) = mlflow_client.search_logged_models([mlflow_client.get_experiment_by_name("digits").experiment_id])
    assert (logged.status, logged.artifact_location) == ("READY", version.source)


def test_half_a_model_that_an_attempt_has_left_is_neither_registered_nor_kept(inputs, mlflow_client, monkeypatch):
    from mlflow import MlflowClient

    def breaks_off(*_args):
        raise StepError(ExitCode.TEMPORARY, "broken off")

    with monkeypatch.context() as patch:
        patch.setattr(MlflowClient, "log_model_artifacts", breaks_off)
        with pytest.raises(StepError, match="broken off"):
            step.run(inputs())
    experiment = mlflow_client.get_experiment_by_name("digits").experiment_id
    (half,) = mlflow_client.search_logged_models([experiment])
    assert half.status == "PENDING"
    step.run(inputs())
    (whole,) = mlflow_client.search_logged_models([experiment])
    (version,) = mlflow_client.search_model_versions("name = 'digits'")
    assert half.model_id != whole.model_id
    assert version.source == whole.artifact_location


def test_a_run_whose_publisher_fell_silent_is_passed_over_and_named_and_does_not_take_the_alias_back(
    inputs, mlflow_client, monkeypatch
):
    from argosy.steps.publish import alias

    monkeypatch.setattr(turn, "SILENCE_SECONDS", 0.5)
    monkeypatch.setattr(turn, "LOOK_SECONDS", 0.1)
    with monkeypatch.context() as patch:
        patch.setattr(alias, "decide", lambda *_: None)  # killed just before
        step.run(inputs("silent"))
    assert step.run(inputs("next")).champion == 2
    silent = mlflow_client.get_model_version("digits", "1")
    assert silent.tags["argosy.decision"] == "passed-over"
    assert "version 2 went ahead" in silent.tags["argosy.decision_reason"]
    assert step.run(inputs("silent")).champion == 2
    assert mlflow_client.get_model_version("digits", "1").tags["argosy.decision"] == "superseded"
