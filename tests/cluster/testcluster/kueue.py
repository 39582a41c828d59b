"""Kueue on a Kubernetes: Jobs that name a queue wait in it until all their pods fit."""

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from testcluster.binaries import kueue_module
from testcluster.kubernetes import Kubernetes
from testcluster.paths import BINARIES, STATE
from testcluster.services import Service, answers

NAMESPACE = "kueue-system"
CERTIFICATES = Path("etc/kueue/metrics/certs")
"""Where it looks for a certificate whatever its configuration says (cmd/kueue/main.go:206)."""

WEBHOOKS = ("job", "clusterqueue", "cohort", "resourceflavor", "workload")
QUEUED = {"matchExpressions": [{"key": "kueue.x-k8s.io/queue-name", "operator": "Exists"}]}
"""Which Jobs it hears of: nothing else of the cluster waits for it, or ends with it."""


@dataclass
class Kueue:
    """Its manager is a process of the machine, which the API server finds by its address."""

    kubernetes: Kubernetes

    def start(self) -> None:
        components = kueue_module() / "config" / "components"
        self.kubernetes.establish(*_resources(components / "crd" / "bases"))
        self.kubernetes.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        self._manager().start()
        self.kubernetes.apply(*self._webhooks(components / "webhook" / "manifests.yaml"))

    def _manager(self) -> Service:
        certificates = STATE / "node" / CERTIFICATES
        certificates.mkdir(parents=True)
        issued = self.kubernetes.ca  # the API server's own, which names this address
        (certificates / "tls.crt").symlink_to(issued)
        (certificates / "tls.key").symlink_to(issued.with_suffix(".key"))
        config = STATE / "kueue.yaml"
        config.write_text(yaml.safe_dump(CONFIGURATION | {"webhook": {"certDir": f"/{CERTIFICATES}", "port": 9443}}))
        words = [BINARIES / "kueue", f"--config={config}", "--feature-gates=VisibilityOnDemand=false"]
        own = {"KUBECONFIG": str(self.kubernetes.kubeconfig)}
        address = f"http://{self.kubernetes.machine.address}:8081"
        return Service(self.kubernetes.machine, "kueue", words, answers(f"{address}/readyz"), own)

    def _webhooks(self, manifests: Path) -> Iterator[dict]:
        """Those of its own resources and of Jobs, by an address in place of a Service."""
        authority = base64.b64encode(self.kubernetes.ca.read_bytes()).decode()
        for one in yaml.safe_load_all(manifests.read_text()):
            kept = [hook for hook in one["webhooks"] if hook["name"][1:].removesuffix(".kb.io") in WEBHOOKS]
            for hook in kept:
                path = hook["clientConfig"]["service"]["path"]
                url = f"https://{self.kubernetes.machine.address}:9443{path}"
                hook["clientConfig"] = {"url": url, "caBundle": authority}
                if "job" in path:
                    hook["objectSelector"] = QUEUED
            yield one | {"metadata": {"name": f"kueue-{one['metadata']['name']}"}, "webhooks": kept}


def _resources(folder: Path) -> Iterator[dict]:
    """Its resources at the version that it stores, which needs no conversion."""
    for path in sorted(folder.glob("*.yaml")):
        one = yaml.load(path.read_text(), yaml.CSafeLoader)
        one["spec"]["versions"] = [version for version in one["spec"]["versions"] if version["storage"]]
        yield one


CONFIGURATION = {
    "apiVersion": "config.kueue.x-k8s.io/v1beta2",
    "kind": "Configuration",
    "namespace": NAMESPACE,
    "health": {"healthProbeBindAddress": ":8081"},
    "metrics": {"bindAddress": "0"},
    "leaderElection": {"leaderElect": False},
    "internalCertManagement": {"enable": False},
    "integrations": {"frameworks": ["batch/job"]},
    # Else a gang that it gives up stays suspended, and its run waits for ever.
    "objectRetentionPolicies": {"workloads": {"afterDeactivatedByKueue": "5s"}},
}
