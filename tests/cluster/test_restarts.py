"""Servers that are killed while a run goes on, which `hera generate yaml ... | argo submit -` has begun."""

import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import mlflow
import pytest
from testcluster.paths import BINARIES
from testcluster.services import wait_until

SECONDS_FOR_A_RUN = 400


@pytest.fixture
def name(cluster) -> str:
    """A run that was submitted without argosy."""
    hera = Path(sys.executable).with_name("hera")
    generate = [hera, "generate", "yaml", "pipelines/digits.py"]
    manifest = subprocess.run(generate, cwd=cluster.project, check=True, capture_output=True, text=True).stdout
    submit = [BINARIES / "argo", "submit", "-", "--output=name"]
    submitted = subprocess.run(
        submit, env=cluster.environment, input=manifest, check=True, capture_output=True, text=True
    )
    return submitted.stdout.strip()


@pytest.fixture
def watching(cluster, name) -> Iterator["subprocess.Popen[str]"]:
    """Somebody who watches it on the command line."""
    argosy = Path(sys.executable).with_name("argosy")
    with subprocess.Popen(
        [argosy, "watch", name, "-c"],
        cwd=cluster.project,
        env=os.environ | cluster.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        yield process
        process.kill()


def test_a_run_survives_the_end_of_every_server_and_is_published_once(cluster, servers, name, watching):
    wait_until(lambda: is_training(cluster.workflow(name)), "training to have begun", SECONDS_FOR_A_RUN)

    for service in (servers.argo.controller, servers.argo.server, servers.stores.mlflow):
        service.kill()
    for service in (servers.stores.mlflow, servers.argo.server, servers.argo.controller):
        service.start()

    said, _ = watching.communicate(timeout=SECONDS_FOR_A_RUN)
    assert watching.returncode == 0, said
    assert "publish: succeeded" in said
    run = cluster.workflow(name)
    assert run["status"]["phase"] == "Succeeded"
    assert train(run)["phase"] == "Succeeded", "the killed servers did not end the training"
    client = mlflow.MlflowClient(tracking_uri=cluster.mlflow)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        versions = client.search_model_versions(f"tags.`argosy.run_uid` = '{run['metadata']['uid']}'")
    assert len(versions) == 1


def is_training(run: dict) -> bool:
    """Whether some of the training is done, and not all of it: what the Argo UI shows while it moves."""
    done, _, total = train(run).get("progress", "0/0").partition("/")
    return train(run).get("phase") == "Running" and 0 < int(done) < int(total)


def train(run: dict) -> dict:
    nodes = (run.get("status", {}).get("nodes") or {}).values()
    return next((one for one in nodes if one["displayName"] == "train(0)"), {})
