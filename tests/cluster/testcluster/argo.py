"""Argo's controller and server on a Kubernetes."""

from dataclasses import dataclass
from functools import cached_property

import yaml

from testcluster.binaries import argo_module
from testcluster.kubernetes import Kubernetes
from testcluster.paths import BINARIES
from testcluster.services import Service, answers
from testcluster.stores import Stores

NAMESPACE = "argo"
EXECUTOR_IMAGE = "localhost/argoexec:1"
KEYS = "argo-artifacts"
"""Name of the Secret by which Argo's executor reaches the artifact repository; each namespace has its own."""


@dataclass
class Argo:
    """Works for every namespace, as a cluster installation does."""

    kubernetes: Kubernetes
    stores: Stores

    @property
    def url(self) -> str:
        return f"http://{self.kubernetes.machine.address}:2746"

    def start(self) -> None:
        crds = argo_module() / "manifests" / "base" / "crds" / "minimal"
        documents = [yaml.safe_load(path.read_text()) for path in sorted(crds.glob("argoproj.io_*.yaml"))]
        self.kubernetes.establish(*documents)
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        self.kubernetes.apply(namespace, self._settings())
        self.controller.start()
        self.server.start()

    def serve(self, namespace: str) -> None:
        """Give a namespace what Argo's executor needs: rights for the account `default`, and the repository's keys."""
        self.kubernetes.apply(
            _object(
                "Secret",
                KEYS,
                namespace,
                stringData={"access": self.stores.access_key, "secret": self.stores.secret_key},
            ),
            _object(
                "Role",
                "executor",
                namespace,
                api="rbac.authorization.k8s.io/v1",
                rules=[
                    {"apiGroups": ["argoproj.io"], "resources": ["workflowtaskresults"], "verbs": ["create", "patch"]}
                ],
            ),
            _object(
                "RoleBinding",
                "executor",
                namespace,
                api="rbac.authorization.k8s.io/v1",
                roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "executor"},
                subjects=[{"kind": "ServiceAccount", "name": "default", "namespace": namespace}],
            ),
        )

    @cached_property
    def controller(self) -> Service:
        words = [
            BINARIES / "workflow-controller",
            f"--kubeconfig={self.kubernetes.kubeconfig}",
            f"--namespace={NAMESPACE}",
            f"--executor-image={EXECUTOR_IMAGE}",
            "--executor-image-pull-policy=Never",
        ]
        # Without these a reconciliation waits for ten times as long (workflow/controller/operator.go:806).
        quick = {
            "LEADER_ELECTION_DISABLE": "true",
            "INFORMER_WRITE_BACK": "true",
            "DEFAULT_REQUEUE_TIME": "1s",
            "ARGO_PROGRESS_PATCH_TICK_DURATION": "1s",  # else it tells once a minute how far a pod is
            "ARGO_PROGRESS_FILE_TICK_DURATION": "1s",
        }
        return Service(self.kubernetes.machine, "workflow-controller", words, self._has_controller, quick)

    @cached_property
    def server(self) -> Service:
        words = [
            BINARIES / "argo",
            "server",
            f"--kubeconfig={self.kubernetes.kubeconfig}",
            f"--namespace={NAMESPACE}",
            "--auth-mode=client",
            "--secure=false",
        ]
        # With the token of a request it reaches Kubernetes where its own configuration says, not by the flag
        # (util/kubeconfig/kubeconfig.go:27).
        own = {"KUBECONFIG": str(self.kubernetes.kubeconfig)}
        return Service(self.kubernetes.machine, "argo-server", words, answers(f"{self.url}/api/v1/version"), own)

    def _has_controller(self) -> bool:
        program = "import urllib.request as r; r.urlopen('http://127.0.0.1:6060/healthz', timeout=3)"
        return self.kubernetes.machine.run("python3", "-c", program, check=False).returncode == 0

    def _settings(self) -> dict:
        repository = {
            "s3": {
                "bucket": "argo",
                "endpoint": self.stores.s3_url.removeprefix("http://"),
                "insecure": True,
                "region": "us-east-1",
                "accessKeySecret": {"name": KEYS, "key": "access"},
                "secretKeySecret": {"name": KEYS, "key": "secret"},
            }
        }
        data = {"artifactRepository": yaml.safe_dump(repository)}
        return _object("ConfigMap", "workflow-controller-configmap", NAMESPACE, data=data)


def _object(kind: str, name: str, namespace: str, *, api: str = "v1", **fields: object) -> dict:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name, "namespace": namespace}} | fields
