"""What a cluster holds argosy's pods to: network policies and pod security."""

import json
import subprocess

import pytest
import yaml
from testcluster.paths import BINARIES

PROBE = """
import socket, sys, time
def is_open(port):
    with socket.socket() as connection:
        connection.settimeout(3)
        return connection.connect_ex((sys.argv[1], port)) == 0
# A new pod's rules are there a moment after the pod itself.
while is_open(int(sys.argv[3])):
    time.sleep(0.2)
print("open" if is_open(int(sys.argv[2])) else "closed")
"""
FORBIDDEN = 2746
"""Argo's server, which no step needs."""


@pytest.mark.parametrize("port", [7070, 5000, 9418, 6443], ids=["s3", "mlflow", "git", "kubernetes"])
def test_a_step_reaches_the_stores_and_not_argos_server(cluster, port):
    address = cluster.argo_server.partition("//")[2].partition(":")[0]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": "probe-", "labels": {"workflows.argoproj.io/workflow": "probe"}},
        "spec": {
            "restartPolicy": "Never",
            "activeDeadlineSeconds": 200,
            "containers": [
                {
                    "name": "main",
                    "image": cluster.small_image,
                    "command": ["python3", "-c", PROBE, address, str(port), str(FORBIDDEN)],
                }
            ],
        },
    }
    there = f"--namespace={cluster.namespace}"
    name = cluster.kubectl("create", there, "--output=name", "-f", "-", stdin=yaml.safe_dump(pod)).strip()
    try:
        cluster.kubectl("wait", there, name, "--timeout=240s", "--for=jsonpath={.status.phase}=Succeeded")
        assert cluster.kubectl("logs", there, name).strip() == "open"
    finally:
        cluster.kubectl("delete", there, name, "--wait=false")


@pytest.fixture(scope="module")
def warned(cluster):
    """A namespace that tells of every rule of restricted pod security that is broken."""
    labels = {"pod-security.kubernetes.io/warn": "restricted"}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "warned", "labels": labels}}
    cluster.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(namespace))
    yield f"--namespace={namespace['metadata']['name']}"
    cluster.kubectl("delete", "namespace", "warned", "--wait=false")


@pytest.mark.parametrize(
    ("cache", "violations"),
    [
        (
            'NodeFolder("/var/lib/argosy/cache")',
            'restricted volume types (volume "cache" uses restricted volume type "hostPath")',
        ),
        ('Claim("argosy-cache")', ""),
        ("Scratch()", ""),
    ],
)
def test_pods_break_no_rule_of_restricted_pod_security_but_the_one_on_host_paths(
    cluster, warned, tmp_path, cache, violations
):
    """Asked of Kubernetes itself, for every pod of the pipeline, whose admission is tried and not carried out."""
    said = set()
    for pod in pods(cluster, tmp_path, cache):
        command = [BINARIES / "kubectl", f"--kubeconfig={cluster.kubeconfig}", "create", "--dry-run=server", "-f", "-"]
        done = subprocess.run([*command, warned], input=json.dumps(pod), capture_output=True, text=True, check=True)
        said.add(done.stderr.partition('"restricted:latest": ')[2].strip())
    assert said - {""} == ({violations} - {""})


def pods(cluster, folder, cache: str) -> list[dict]:
    """A pod of each template, as Argo makes it of the pipeline."""
    text = (cluster.project / "pipelines" / "digits.py").read_text()
    settings = f"\n    storage=Storage(cache={cache}),\n    image="
    names = "from argosy.pipelines import Claim, NodeFolder, Scratch, Storage\n"
    file = folder / "digits.py"
    file.write_text(names + text.replace("\n    image=", settings))
    workflow = yaml.safe_load(cluster.argosy(cluster.project, "compile", str(file)))
    found = []
    for template in workflow["spec"]["templates"]:
        if "container" not in template:
            continue
        containers = [{"name": "main", **template["container"]}]
        found.append(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": template["name"]},
                "spec": {
                    "securityContext": template["securityContext"],
                    "containers": containers,
                    "initContainers": template.get("initContainers", []),
                    "volumes": template["volumes"],
                },
            }
        )
    return found
