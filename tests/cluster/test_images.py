"""The project's image, built by buildah and run by Kubernetes: what is in it, for whom it works, how fast it is."""

import json
import os
import re
import shutil
import subprocess
from hashlib import sha256
from uuid import uuid4

import pytest
from testcluster import images
from testcluster.paths import ROOT

NAME = "localhost/argosy/images-test:1"
NAMESPACE = "images"

VERSIONS = """
import importlib.metadata, json
print(json.dumps({one.name.lower().replace("_", "-"): one.version for one in importlib.metadata.distributions()}))
"""
IMPORTS = """
import getpass, os, pathlib, tempfile
import dvc.api, mlflow, torch, webdataset
from argosy.steps.train import supervisor
print(os.getuid(), pathlib.Path.cwd(), getpass.getuser(), torch.ones(2).sum().item())
for folder in (".", "/opt/argosy", os.path.dirname(torch.__file__)):
    try:
        tempfile.TemporaryFile(dir=folder)
    except OSError:
        continue
    print("writable:", folder)
"""


@pytest.fixture(scope="module")
def kubernetes(own_cluster):
    """One whose node can borrow images."""
    if own_cluster is None:
        pytest.skip("images can be lent to the tests' own node alone")
    return own_cluster.kubernetes


@pytest.fixture(scope="module")
def digest(kubernetes) -> str:
    """The image of this checkout is on the node, under its name and under this digest."""
    kubernetes.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    return images.lend(images.project_image(ROOT), NAME, kubernetes.ctr)


@pytest.fixture
def printed(kubernetes, digest):  # noqa: ARG001 - the image must be there
    """What a command prints in a pod that has no rights, as any user."""
    kubectl = kubernetes.kubectl

    def run(*command: str, image: str = NAME, user: int = 54321) -> str:
        name = f"pod-{uuid4().hex[:8]}"
        rights = {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        container = {
            "name": "main", "image": image, "command": command, "securityContext": rights,
            "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
        }  # fmt: skip
        spec = {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "securityContext": {"runAsUser": user, "runAsGroup": user, "runAsNonRoot": True},
            "containers": [container],
            "volumes": [{"name": "tmp", "emptyDir": {}}],
        }
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec}
        kubernetes.apply(pod)
        ended = "jsonpath={.status.containerStatuses[0].state.terminated}"
        kubectl("wait", "-n", NAMESPACE, f"pod/{name}", f"--for={ended}", "--timeout=300s")
        return kubectl("logs", "-n", NAMESPACE, name)

    return run


@pytest.mark.parametrize("user", [1000, 54321])
def test_the_steps_work_for_any_user_and_nothing_but_tmp_is_writable(printed, user):
    assert printed("python", "-c", IMPORTS, user=user) == f"{user} /argosy/project argosy 2.0\n"


def test_the_entry_of_the_pods_starts(printed):
    assert "usage: python -m argosy.steps" in printed("python", "-m", "argosy.steps", "--help")


def test_neither_compiler_nor_installer_is_in_it(printed):
    unwanted = ["cc", "gcc", "g++", "clang", "uv", "pip"]
    assert printed("sh", "-c", f"command -v {'; command -v '.join(unwanted)}; true") == ""


def test_what_is_installed_is_what_the_lock_pins(printed):
    lock = (ROOT / "requirements.lock").read_text()
    pinned = set(re.findall(r"^([a-z0-9._-]+)==([^ ;\\]+)", lock, re.MULTILINE))  # some twice, for other Pythons
    installed = json.loads(printed("python", "-c", VERSIONS))
    normal = {name.replace(".", "-"): version.partition("+")[0] for name, version in installed.items()}
    assert {"torch", "dvc", "mlflow", "scikit-learn"} <= normal.keys()
    assert not normal.keys() & {"hera", "pytest", "uv"}
    assert normal.items() - pinned == set()


def test_it_holds_the_lock_the_code_and_the_commit_of_this_checkout(printed):
    files = {
        "/opt/argosy/requirements.lock": ROOT / "requirements.lock",
        "/opt/argosy/code/argosy/steps/contracts.py": ROOT / "steps" / "contracts.py",
        "/argosy/project/dvc.lock": ROOT / "dvc.lock",
    }
    told = [line.split() for line in printed("sha256sum", *files).splitlines()]
    assert {path: digest for digest, path in told} == {
        path: sha256(file.read_bytes()).hexdigest() for path, file in files.items()
    }
    commit = subprocess.check_output(["git", "-C", ROOT, "rev-parse", "HEAD"], text=True).strip()
    assert printed("cat", "/argosy/project/.argosy-revision").removesuffix("-dirty") == commit


def test_a_pod_may_name_it_by_digest(printed, digest):
    name = NAME.rpartition(":")[0]
    assert printed("echo", "here", image=f"{name}@{digest}") == "here\n"


def test_a_change_of_code_makes_the_project_tier_alone(digest, tmp_path):  # noqa: ARG001 - the tiers below are there
    for name in ("pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, tmp_path / name)
    git(tmp_path, "init", "--quiet")
    before = frameworks()
    for text in ("one", "another"):
        (tmp_path / "code.py").write_text(text)
        git(tmp_path, "add", "--all")
        git(tmp_path, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message", text)
        buildah("rmi", images.project_image(tmp_path))
    assert frameworks() == before


def git(folder, *words):
    subprocess.run(["git", "-C", folder, *words], check=True)


def buildah(*words):
    command = ["buildah", *words]
    return subprocess.run(command, env=os.environ | images.BUILDAH, capture_output=True, text=True, check=True).stdout


def frameworks():
    return {line for line in buildah("images", "--no-trunc").splitlines() if "argosy/framework" in line}
