"""Metrics reach MLflow in batches, and no step waits for that."""

import socket
import time
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import torch
from mlflow import MlflowClient

from argosy.steps.publish import runs as published
from argosy.steps.publish.client import connected
from argosy.steps.publish.tags import RUN, RUN_UID
from argosy.steps.train import metrics
from argosy.steps.train.metrics import Metrics


@pytest.fixture
def uri(tmp_path, monkeypatch):
    monkeypatch.setenv(metrics.EXPERIMENT, "digits")
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    with connected(uri):  # makes its tables: that takes seconds, which a short training does not last
        return uri


def runs(uri):
    with connected(uri) as client:
        experiment = client.get_experiment_by_name("digits")
        return client.search_runs([experiment.experiment_id])


def test_each_point_is_a_mean_over_its_steps_and_a_run_is_continued_by_the_next_attempt(uri, monkeypatch):
    monkeypatch.setattr(metrics, "SECONDS_OF_A_POINT", 0)
    first = Metrics(uri, "r")
    first.add(1, {"loss": torch.tensor(2.0), "learning_rate": 0.5})
    first.close(1, finished=False)
    monkeypatch.setattr(metrics, "SECONDS_OF_A_POINT", 1e9)
    second = Metrics(uri, "r")
    for step, loss in ((2, 1.0), (3, 2.0)):
        second.add(step, {"loss": torch.tensor(loss)})
    second.close(3, finished=True)
    (run,) = runs(uri)
    assert (run.info.run_name, run.data.tags[RUN], run.info.status) == ("r", "r", "FINISHED")
    history = MlflowClient(uri).get_metric_history(run.info.run_id, "training/loss")
    assert [(point.step, point.value) for point in history] == [(1, 2.0), (3, 1.5)]
    assert run.data.metrics["training/learning_rate"] == 0.5


def test_the_use_of_a_gpu_is_sent_where_its_library_knows_it(uri, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    for answer in (ModuleNotFoundError("pynvml"), 87):
        monkeypatch.setattr(torch.cuda, "utilization", Mock(side_effect=[answer]))
        sent = Metrics(uri, str(answer))
        sent.add(1, {"loss": 2.0})
        sent.close(1, finished=True)
    assert [run.data.metrics.get("training/gpu_use") for run in runs(uri)] == [0.87, None]


def test_publish_completes_the_run_that_the_metrics_are_in_once(uri, tmp_path):
    Metrics(uri, "r").close(0, finished=True)
    with connected(uri) as client:
        experiment = published.experiment_id(client, "digits", None)
        made = [published.made(client, experiment, "r", {RUN_UID: uid, RUN: "r"}) for uid in ("u1", "u1", "u2")]
    taken = [run.info.run_id for run in made]
    assert taken[0] == taken[1] != taken[2]
    assert runs(uri)[-1].info.run_id == taken[0]
    assert runs(uri)[-1].info.artifact_uri.startswith(f"file://{tmp_path}/artifacts/")


def test_a_server_that_accepts_and_never_answers_holds_up_neither_steps_nor_the_end(monkeypatch, capsys):
    monkeypatch.setattr(metrics, "SECONDS_TO_CLOSE", 0.5)
    monkeypatch.setattr(metrics, "SECONDS_OF_A_POINT", 0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        silent = Metrics(f"http://127.0.0.1:{server.getsockname()[1]}", "r")
        began = time.monotonic()
        for step in range(1000):
            silent.add(step, {"loss": 1.0})
        assert time.monotonic() - began < 1
        silent.close(1000, finished=True)
        assert time.monotonic() - began < 3
        assert "the last 1000 points did not reach MLflow" in capsys.readouterr().err


def test_a_server_that_is_not_there_is_said_once(monkeypatch, capsys):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    monkeypatch.setattr(metrics, "SECONDS_BETWEEN_BATCHES", 0.01)
    absent = Metrics("http://127.0.0.1:9", "r")
    absent.add(1, {"loss": 1.0})
    absent.close(1, finished=True)
    told = capsys.readouterr().err
    assert told.count("MLflow does not answer as it should") == 1
    assert "the training goes on" in told


@pytest.mark.parametrize("uri", ["file:///tmp/runs", "http://user:pass@word@host"])
def test_an_address_that_is_none_is_said_without_it(uri, capsys):
    assert metrics.metrics(SimpleNamespace(tracking_uri=uri, run="r")) is None
    told = capsys.readouterr().err
    assert "--tracking-uri is neither http(s)://HOST nor sqlite:///PATH" in told
    assert "pass" not in told


def test_without_an_address_none_are_kept(monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    assert metrics.metrics(SimpleNamespace(tracking_uri="", run="r")) is None


def test_a_supervised_training_sends_what_it_measures(supervised, uri):
    supervised.finished(**{"run": "r", "tracking-uri": uri, "hyperparameters.epochs": 5})
    (run,) = runs(uri)
    assert {name.removeprefix("training/") for name in run.data.metrics} >= {
        "loss", "learning_rate", "step_seconds", "data_wait_seconds", "checkpoint_stall_seconds",
        "samples_per_second", "goodput", "validation_accuracy",
    }  # fmt: skip
    assert 0 < run.data.metrics["training/goodput"] < 1
