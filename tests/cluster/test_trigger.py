"""Pushes, told to a real Argo server: which become runs, and as what."""

import hashlib
import hmac
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import requests
import yaml

NAMESPACE = f"argosy-trigger-{os.getpid()}"  # one that is being deleted cannot be used
SECRET = "a secret of the tests"
ARGOSY = Path(sys.executable).with_name("argosy")
MAIN, LAST, HOOK = "1" * 40, "2" * 40, "digits.git"

# No node is called so: the runs need only be made.
PIPELINE = """
from argosy.pipelines import Accuracy, Dataset, OnPush, Pipeline, Placement, Registry, Training
from argosy.pipelines.code import Git

digits = Pipeline(
    name="digits",
    dataset=Dataset("data/digits"),
    training=Training(task="argosy.steps.digits:Digits"),
    gates=[Accuracy(at_least=0.9)],
    registry=Registry("digits"),
    image="argosy/digits:0.1.0",
    code=Git("https://git.example.org/vision/digits.git"),
    placement=Placement(node_selector={"nowhere": "true"}),
    on_push=OnPush(branches=["main", "release/*"], paths=["dvc.lock", "pipelines/**"], repository="digits"),
)
"""
LOCK = {
    "schema": "2.0",
    "stages": {
        "digits": {
            "cmd": "true",
            "outs": [{"path": "data/digits", "md5": "d" * 32 + ".dir", "size": 1, "nfiles": 1, "hash": "md5"}],
        }
    },
}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    (folder / "pipelines").mkdir()
    (folder / "pipelines" / "digits.py").write_text(PIPELINE)
    (folder / "dvc.lock").write_text(yaml.safe_dump(LOCK))
    (folder / "pyproject.toml").touch()
    return folder


def argosy(folder, *words, **environment):
    return subprocess.run(
        [ARGOSY, *words], cwd=folder, env=os.environ | environment, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def namespace(cluster, project):
    """argosy is installed there, and the pipeline deployed."""
    yield from listening(cluster, project, NAMESPACE, "github")


@pytest.fixture
def gitlabs_namespace(cluster, project):
    """The same for pushes that GitLab tells."""
    yield from listening(cluster, project, f"{NAMESPACE}-gitlab", "gitlab")


def listening(cluster, project, namespace, kind):
    cluster.kubectl("apply", "-f", "-", stdin=argosy(project, "install", "-n", namespace).stdout)
    client = json.dumps({"type": kind, "secret": SECRET})
    words = ["create", "secret", "generic", "argo-workflows-webhook-clients", "-n", namespace]
    cluster.kubectl(*words, "--from-file=argosy-triggers=/dev/stdin", stdin=client)
    cluster.kubectl("apply", "-n", namespace, "-f", "-", stdin=argosy(project, "deploy", "digits").stdout)
    yield namespace
    cluster.kubectl("delete", "namespace", namespace, "--wait=false")


def told(cluster, commit, *, secret=SECRET, body=None, headers=(), **changes):
    """Post a push to main, or what is made of it; the status of the answer."""
    one = {"id": commit, "message": "New data", "author": {"name": "Ada"}, "modified": ["dvc.lock"]}
    payload = {
        "ref": "refs/heads/main",
        "after": commit,
        "deleted": False,
        "forced": False,
        "repository": {"full_name": "digits"},
        "commits": [one],
        "head_commit": one,
    }
    content = body or json.dumps(payload | changes).encode()
    signature = {"X-Hub-Signature-256": "sha256=" + hmac.new(secret.encode(), content, hashlib.sha256).hexdigest()}
    sent = {
        "Content-Type": "application/json",
        "X-GitHub-Event": "push",
        **(signature if secret else {}),
        **dict(headers),
    }
    url = f"{cluster.argo_server}/api/v1/events/{NAMESPACE}/push"
    return requests.post(url, data=content, headers=sent, timeout=30).status_code


def runs(cluster, namespace=NAMESPACE):
    answer = cluster.get(f"/api/v1/workflows/{namespace}")
    return {one["metadata"]["name"]: one for one in answer["items"] or []}


def wait_for(condition, seconds=180):
    """What the condition gives once it is true."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.2)
    return found


def test_pushes_that_are_meant_become_runs_and_no_others(cluster, namespace):  # noqa: ARG001 - it must be there
    nasty = "$(touch x)\"'; {{workflow.name}}"
    ignored = {
        "deleted": {"after": "0" * 40, "deleted": True, "head_commit": None, "commits": []},
        "another branch": {"ref": f"refs/heads/{nasty}"},
        "another path": {"commits": [{"modified": ["README.md"]}]},
        "a tag": {"ref": "refs/tags/main"},
        "another repository": {"repository": {"full_name": "cats"}},
    }
    for number, changes in enumerate(ignored.values()):
        assert told(cluster, f"{number:x}" * 40, **changes) == 200
    assert told(cluster, "a" * 40, secret="") in (401, 403)
    assert told(cluster, "b" * 40, secret="another") in (401, 403)
    assert told(cluster, "c" * 40, body=b"x" * (3 << 20)) == 403
    assert told(cluster, "d" * 40, headers={"X-GitHub-Event": "ping"}) == 200

    assert told(cluster, MAIN, headers={"X-GitHub-Delivery": "1"}) == 200
    # It has the answer at hand unless it runs with --event-async-dispatch (argo: server/event/event_server.go:95).
    assert told(cluster, MAIN, headers={"X-GitHub-Delivery": "1"}) in (200, 500)
    hostile = {"id": LAST, "message": nasty, "author": {"name": nasty}, "modified": ["pipelines/digits.py"]}
    assert told(cluster, LAST, ref="refs/heads/release/1", forced=True, commits=[hostile], head_commit=hostile) == 200

    wait_for(lambda: {f"digits-{MAIN[:12]}", f"digits-{LAST[:12]}"} <= runs(cluster).keys())
    wait_for(lambda: "already exists" in _warnings(cluster))
    found = runs(cluster)
    assert set(found) == {f"digits-{MAIN[:12]}", f"digits-{LAST[:12]}"}
    first, last = (found[f"digits-{commit[:12]}"] for commit in (MAIN, LAST))
    assert first["spec"]["arguments"]["parameters"] == [{"name": "revision", "value": MAIN}]
    assert first["spec"]["workflowTemplateRef"] == {"name": "digits"}
    assert first["metadata"]["labels"]["argosy/pipeline"] == "digits"
    assert first["metadata"]["labels"]["workflows.argoproj.io/creator"].endswith("argosy-triggers")
    assert first["metadata"]["annotations"]["workflows.argoproj.io/title"] == "digits 1111111"
    assert last["metadata"]["annotations"]["argosy/message"] == nasty
    assert last["metadata"]["annotations"]["argosy/branch"] == "release/1"
    wait_for(lambda: runs(cluster)[f"digits-{LAST[:12]}"].get("status", {}).get("phase") == "Running")


def _warnings(cluster):
    """What Argo's server said of the binding."""
    words = ["get", "events", "-n", NAMESPACE, "--field-selector=reason=WorkflowEventBindingError"]
    return cluster.kubectl(*words, "-o", "jsonpath={.items[*].message}")


def test_a_git_push_through_the_hook_becomes_a_run(cluster, namespace, tmp_path):
    def git(folder, *words):
        command = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", *words]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)

    bare, work = tmp_path / HOOK, tmp_path / "work"
    git(tmp_path, "init", "--quiet", "--bare", str(bare))
    hook = bare / "hooks" / "post-receive"
    hook.write_text(argosy(tmp_path, "trigger", "hook").stdout)
    hook.chmod(0o755)
    (tmp_path / "secret").write_text(SECRET)
    settings = {"server": cluster.argo_server, "namespace": namespace, "secretFile": str(tmp_path / "secret")}
    for key, value in settings.items():
        git(bare, "config", f"argosy.{key}", value)

    git(tmp_path, "init", "--quiet", "--initial-branch=main", str(work))
    (work / "dvc.lock").write_text(str(time.time()))
    git(work, "add", "--all")
    git(work, "commit", "--quiet", "--message", "By a hook")
    head = git(work, "rev-parse", "HEAD").stdout.strip()
    said = git(work, "push", "--quiet", str(bare), "main").stderr
    assert f"argosy: main: told Argo; pipelines that listen to it run as NAME-{head[:12]}" in said
    run = wait_for(lambda: runs(cluster).get(f"digits-{head[:12]}"))
    assert run["spec"]["arguments"]["parameters"] == [{"name": "revision", "value": head}]
    assert run["metadata"]["annotations"]["argosy/message"] == "By a hook"


def test_a_push_with_gitlabs_token_becomes_a_run_and_one_with_another_does_not(cluster, gitlabs_namespace):
    def push(commit, token):
        one = {"id": commit, "message": "New data", "author": {"name": "Ada"}, "modified": ["dvc.lock"]}
        payload = {
            "object_kind": "push",
            "ref": "refs/heads/main",
            "after": commit,
            "checkout_sha": commit,
            "user_name": "Ada",
            "project": {"path_with_namespace": "digits"},
            "commits": [one],
            "total_commits_count": 1,
        }
        headers = {"X-Gitlab-Event": "Push Hook", "X-Gitlab-Token": token}
        url = f"{cluster.argo_server}/api/v1/events/{gitlabs_namespace}/push"
        return requests.post(url, json=payload, headers=headers, timeout=30).status_code

    assert push(LAST, "another") in (401, 403)
    assert push(MAIN, SECRET) == 200
    run = wait_for(lambda: runs(cluster, gitlabs_namespace).get(f"digits-{MAIN[:12]}"))
    assert run["spec"]["arguments"]["parameters"] == [{"name": "revision", "value": MAIN}]
    assert set(runs(cluster, gitlabs_namespace)) == {f"digits-{MAIN[:12]}"}


def test_the_doctor_finds_a_namespace_well_and_an_empty_one_not(cluster, namespace, project):
    import testcluster.paths

    path = f"{testcluster.paths.BINARIES}{os.pathsep}{os.environ['PATH']}"
    access = {**cluster.environment, "PATH": path}
    well = argosy(project, "doctor", "--json", **{**access, "ARGO_NAMESPACE": namespace})
    assert well.returncode == 0, well.stdout
    states = {one["question"]: one["state"] for one in json.loads(well.stdout)["findings"]}
    assert states == dict.fromkeys(["server", "namespace", "triggers", "webhooks", "objects"], "ok")
    empty = argosy(project, "doctor", **{**access, "ARGO_NAMESPACE": "default"})
    assert empty.returncode == 1
    assert "failed   objects    serviceaccount/argosy-steps" in empty.stdout
