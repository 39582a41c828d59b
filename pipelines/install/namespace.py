"""The namespace, with the pod security that it enforces (https://kubernetes.io/docs/concepts/security/pod-security-admission/)."""

from argosy.pipelines.install.objects import Object, made
from argosy.pipelines.install.settings import Installation

_PREFIX = "pod-security.kubernetes.io/"


def namespace(settings: Installation) -> Object:
    enforced, reason = "restricted", "Every pod must keep to Kubernetes' strictest pod security, and argosy's do."
    if settings.cache == "node":
        enforced = "privileged"
        reason = (
            f"The dataset cache is the node's folder {settings.node_folder}. Pod security below `privileged` forbids\n"
            "host paths altogether, so nothing stricter can be enforced here; whatever else a pod does against\n"
            "`restricted` is warned of and recorded. `--cache claim` or `--cache scratch` let the namespace enforce it."
        )
    levels = {"enforce": enforced, "warn": "restricted", "audit": "restricted"}
    labels = {f"{_PREFIX}{mode}": level for mode, level in levels.items()}
    return made(reason, "v1", "Namespace", settings.namespace, settings, labels=labels)
