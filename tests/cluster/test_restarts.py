"""Servers that are killed while a run goes on."""

import subprocess
import sys
import warnings
from pathlib import Path

import mlflow
from testcluster.paths import BINARIES
from testcluster.services import wait_until

SECONDS_FOR_A_RUN = 400


def test_a_run_survives_the_end_of_every_server_and_is_published_once(cluster, servers):
    """It is submitted as `hera generate yaml ... | argo submit -` does, and watched all the time."""
    hera = Path(sys.executable).with_name("hera")
    manifest = subprocess.run(
        [hera, "generate", "yaml", "pipelines/digits.py"],
        cwd=cluster.project,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    submitted = subprocess.run(
        [BINARIES / "argo", "submit", "-", "--output=name"],
        env=cluster.environment,
        input=manifest,
        check=True,
        capture_output=True,
        text=True,
    )
    name = submitted.stdout.strip()
    argosy = Path(sys.executable).with_name("argosy")
    watching = subprocess.Popen(
        [argosy, "watch", name, "-c"],
        cwd=cluster.project,
        env=cluster.environment | {"PATH": "/usr/bin:/bin"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
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
    assert train(run)["phase"] == "Succeeded"
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
