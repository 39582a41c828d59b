"""Gives the cache's folder on each node to the user of argosy's pods: the kubelet makes it root's."""

from argosy.pipelines.install.objects import USER, Object, made
from argosy.pipelines.install.settings import Installation
from argosy.pipelines.manifest import Json

NAME = "argosy-node-folder"
_FOLDER = "/cache"
_WAIT = "import signal; signal.pause()"


def node_folder(settings: Installation) -> Object:
    name = {"app.kubernetes.io/name": NAME}
    pod = {
        "automountServiceAccountToken": False,
        "initContainers": [_giving(settings)],
        "containers": [_waiting(settings)],
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        "terminationGracePeriodSeconds": 1,
        "tolerations": [{"operator": "Exists"}],
        "volumes": [{"name": "cache", "hostPath": {"path": settings.node_folder, "type": "DirectoryOrCreate"}}],
    }
    return made(
        f"Gives {settings.node_folder} of each node to user {USER}, as which argosy's pods run.",
        "apps/v1",
        "DaemonSet",
        NAME,
        settings,
        labels=name,
        spec={"selector": {"matchLabels": name}, "template": {"metadata": {"labels": name}, "spec": pod}},
    )


def _giving(settings: Installation) -> Json:
    return {
        "name": "give",
        "image": settings.image,
        "command": ["python3", "-c", f"import os; os.chown({_FOLDER!r}, {USER}, {USER})"],
        "resources": _resources(),
        "securityContext": {**_rights(), "runAsUser": 0, "capabilities": {"drop": ["ALL"], "add": ["CHOWN"]}},
        "volumeMounts": [{"name": "cache", "mountPath": _FOLDER}],
    }


def _waiting(settings: Installation) -> Json:
    """A DaemonSet's pod may not end."""
    return {
        "name": "wait",
        "image": settings.image,
        "command": ["python3", "-c", _WAIT],
        "resources": _resources(),
        "securityContext": {**_rights(), "runAsUser": USER, "runAsNonRoot": True, "capabilities": {"drop": ["ALL"]}},
    }


def _rights() -> Json:
    return {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True}


def _resources() -> Json:
    memory = {"memory": "64Mi"}
    return {"requests": {"cpu": "10m", **memory}, "limits": memory}
