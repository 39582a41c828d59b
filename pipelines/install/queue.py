"""A queue of Kueue's for trainings. What it may use, its ClusterQueue says, which is the whole cluster's."""

from argosy.pipelines.compile import rendered
from argosy.pipelines.install.objects import Object, made
from argosy.pipelines.install.settings import Installation
from argosy.pipelines.manifest import Json

API = "kueue.x-k8s.io/v1beta2"
EXAMPLE: Json = {"cpu": "64", "memory": "512Gi", "nvidia.com/gpu": "8"}
"""A quota has to name each resource that a pod asks for, or the pod is never admitted."""


def local_queue(settings: Installation, name: str) -> Object:
    reason = f"Trainings that name queue {name} wait here until ClusterQueue {name} has room for all their nodes."
    return made(reason, API, "LocalQueue", name, settings, spec={"clusterQueue": name})


def cluster_queue(name: str) -> str:
    """An example, to be made one's own."""
    quotas = [{"name": resource, "nominalQuota": amount} for resource, amount in EXAMPLE.items()]
    spec: Json = {
        "namespaceSelector": {},
        "preemption": {"withinClusterQueue": "LowerPriority"},
        "resourceGroups": [{"coveredResources": list(EXAMPLE), "flavors": [{"name": "default", "resources": quotas}]}],
    }
    flavor = {"apiVersion": API, "kind": "ResourceFlavor", "metadata": {"name": "default"}}
    queue = {"apiVersion": API, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec}
    return "---\n".join([rendered(flavor), rendered(queue)])
