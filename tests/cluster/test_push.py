"""From a `git push` to a registered version, in a namespace that enforces restricted pod security."""

import json
import os
import subprocess
import warnings
from pathlib import Path

import mlflow
import pytest
from testcluster import digits
from testcluster.services import wait_until

NAMESPACE = "restricted"
SECRET = "a secret of the tests"
REPOSITORY = "digits.git"
SECONDS_FOR_A_RUN = 400
ENDED = ("Succeeded", "Failed", "Error")


@pytest.fixture(scope="module")
def bare(own_cluster, tmp_path_factory) -> Path:
    """A bare repository on the git server, whose pushes tell Argo's server."""
    if own_cluster is None:
        pytest.skip("a git server whose hooks can be set is needed")
    own_cluster.install(NAMESPACE, "--cache=scratch")
    client = json.dumps({"type": "github", "secret": SECRET})
    own_cluster.kubernetes.kubectl(
        "create", "secret", "generic", "argo-workflows-webhook-clients", f"--namespace={NAMESPACE}",
        "--from-file=argosy-triggers=/dev/stdin", stdin=client,
    )  # fmt: skip
    folder = own_cluster.stores.repositories / REPOSITORY
    digits.git(folder.parent, "init", "--quiet", "--bare", "--initial-branch=main", str(folder))
    secret = tmp_path_factory.mktemp("keys") / "webhook"
    secret.write_text(SECRET)
    secret.chmod(0o600)
    for name, value in {
        "server": own_cluster.argo.url,
        "namespace": NAMESPACE,
        "secretFile": str(secret),
        "repository": "digits",
    }.items():
        digits.git(folder, "config", f"argosy.{name}", value)
    hook = folder / "hooks" / "post-receive"
    hook.write_text(own_cluster.access.argosy(own_cluster.project, "trigger", "hook"))
    hook.chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def clone(cluster, bare, tmp_path_factory) -> Path:
    """The digits project, whose pipeline listens to pushes and whose pods fetch its code."""
    folder = tmp_path_factory.mktemp("clone")
    digits.create(folder)
    pipeline = folder / "pipelines" / "digits.py"
    text = pipeline.read_text()
    settings = f"""
    code=Git("{cluster.git}/{bare.name}"),
    on_push=OnPush(branches=["main"], paths=["pipelines/**", "dvc.lock"], repository="digits"),
    storage=Storage(cache=Scratch()),
    image="""
    text = text.replace("\n    image=", settings)
    names = "from argosy.pipelines import Git, OnPush, Scratch, Storage\n"
    pipeline.write_text(text.replace("from argosy.pipelines import", f"{names}from argosy.pipelines import", 1))
    digits.commit(folder, "Listen to pushes")
    digits.git(folder, "remote", "add", "origin", f"{cluster.git}/{bare.name}")
    objects = cluster.argosy(folder, "deploy", "digits")
    cluster.kubectl("apply", f"--namespace={NAMESPACE}", "-f", "-", stdin=objects)
    return folder


def pushed(folder: Path, *words: str) -> str:
    """What the pusher's terminal shows."""
    done = subprocess.run(
        ["git", "-C", folder, "push", *words],
        env=os.environ | digits.IDENTITY,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stderr


def runs(cluster) -> dict[str, dict]:
    items = cluster.get(f"/api/v1/workflows/{NAMESPACE}")["items"] or []
    return {one["metadata"]["name"]: one for one in items}


def phase(cluster, name: str) -> str:
    return runs(cluster).get(name, {}).get("status", {}).get("phase", "")


def test_a_push_ends_as_a_registered_version_that_carries_its_commit(cluster, clone):
    commit = digits.commit(touched(clone), "Train longer")
    name = f"digits-{commit[:12]}"

    said = pushed(clone, "origin", "main")

    assert f"NAME-{commit[:12]}" in said
    wait_until(
        lambda: runs(cluster).get(name, {}).get("status", {}).get("phase") in ENDED, f"run {name}", SECONDS_FOR_A_RUN
    )
    run = runs(cluster)[name]
    assert run["status"]["phase"] == "Succeeded", messages(run)
    client = mlflow.MlflowClient(tracking_uri=cluster.mlflow)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (version,) = client.search_model_versions(f"tags.`argosy.revision` = '{commit}'")
    assert version.tags["argosy.run"] == name


def test_a_push_of_other_files_starts_nothing(cluster, clone):
    before = set(runs(cluster))
    (clone / "notes.md").write_text("Nothing that a run is made of\n")
    digits.commit(clone, "Notes")
    pushed(clone, "origin", "main")
    commit = digits.commit(touched(clone), "Count")
    pushed(clone, "origin", "main")
    name = f"digits-{commit[:12]}"
    # Argo's server works its events off in their order: when the second is there the first was looked at.
    wait_until(lambda: name in runs(cluster), f"run {name}")
    assert set(runs(cluster)) - before == {name}
    cluster.argosy(clone, "stop", name, "-c", ARGO_NAMESPACE=NAMESPACE)


def touched(folder: Path) -> Path:
    pipeline = folder / "pipelines" / "digits.py"
    pipeline.write_text(pipeline.read_text() + "\n# a change that counts\n")
    return folder


def messages(run: dict) -> str:
    nodes = run["status"]["nodes"].values()
    return "\n".join(f"{one['displayName']}: {one['phase']}: {one.get('message')}" for one in nodes)
