"""What `argosy install` prints, applied to a real cluster."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

NAMESPACE = f"argosy-install-{os.getpid()}"  # one that is being deleted cannot be used
ARGOSY = Path(sys.executable).with_name("argosy")
WRITING = """
apiVersion: v1
kind: Pod
metadata: {name: writer}
spec:
  restartPolicy: Never
  securityContext: {runAsUser: 1000, runAsGroup: 1000}
  volumes: [{name: cache, hostPath: {path: /var/lib/argosy/install-test, type: Directory}}]
  containers:
  - name: main
    image: %s
    command: [python3, -c, "open('/cache/written', 'w').close()"]
    volumeMounts: [{name: cache, mountPath: /cache}]
"""


def printed(*words):
    command = [ARGOSY, "install", "-n", NAMESPACE, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def installed(cluster):
    """The namespace, whose cache is a folder of each node."""
    words = ["--image", cluster.small_image, "--node-folder", "/var/lib/argosy/install-test"]
    text = printed(*words, "--mlflow", "http://192.0.2.1:5000", "--s3-endpoint", "http://192.0.2.1:9000")
    cluster.kubectl("apply", "-f", "-", stdin=text)
    yield text
    cluster.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


def test_applying_again_changes_nothing(cluster, installed):
    said = cluster.kubectl("apply", "-f", "-", stdin=installed)
    assert {line.split()[-1] for line in said.splitlines()} == {"unchanged"}


def test_the_nodes_folder_is_given_to_the_pods_user(cluster, installed):  # noqa: ARG001 - it must be installed
    cluster.kubectl("rollout", "status", "daemonset/argosy-node-folder", "-n", NAMESPACE, "--timeout=120s")
    cluster.kubectl("apply", "-n", NAMESPACE, "-f", "-", stdin=WRITING % cluster.small_image)
    wait = "--for=jsonpath={.status.phase}=Succeeded"
    cluster.kubectl("wait", "pod/writer", "-n", NAMESPACE, wait, "--timeout=120s")


@pytest.mark.parametrize(
    ("account", "rights"),
    [
        ("argosy-steps", {"workflowtaskresults": {"create", "patch"}}),
        (
            "argosy-triggers",
            {"workflows": {"create"}, "workflowtemplates": {"get"}, "workfloweventbindings": {"list"}},
        ),
    ],
)
def test_an_account_may_do_what_it_must_and_nothing_else(cluster, installed, account, rights):  # noqa: ARG001
    """Asked of Kubernetes itself, which knows everything that applies to the account."""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": NAMESPACE},
    }
    user = f"--as=system:serviceaccount:{NAMESPACE}:{account}"
    answer = cluster.kubectl("create", user, "--validate=false", "-o", "json", "-f", "-", stdin=json.dumps(review))
    found = {}
    for rule in json.loads(answer)["status"]["resourceRules"]:
        for resource in rule["resources"]:
            found.setdefault(resource, set()).update(rule["verbs"])
    everyones = {"selfsubjectaccessreviews", "selfsubjectreviews", "selfsubjectrulesreviews"}
    assert {name: verbs for name, verbs in found.items() if name not in everyones} == rights


def test_a_namespace_without_the_nodes_folder_enforces_restricted_pod_security(cluster):
    text = printed("--cache", "claim").partition("---\n")[0].replace(NAMESPACE, f"{NAMESPACE}-restricted")
    cluster.kubectl("apply", "-f", "-", stdin=text)
    try:
        bare = f"--overrides={json.dumps({'spec': {'containers': [{'name': 'x', 'image': cluster.small_image}]}})}"
        with pytest.raises(RuntimeError, match='violates PodSecurity "restricted'):
            cluster.kubectl("run", "x", f"--image={cluster.small_image}", "-n", f"{NAMESPACE}-restricted", bare)
    finally:
        cluster.kubectl("delete", "namespace", f"{NAMESPACE}-restricted", "--wait=false")
