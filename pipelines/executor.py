"""What a patch changes in a pod of argosy's: the rights of Argo's own containers, `init` and `wait`, in which its
executor works, and what a template has no field for.

Argo gives them no rights of their own unless its controller is configured to (argo: workflow/controller/workflowpod.go,
newExecContainer), and every container of a pod the same API token. A patch of the pod does better, in any cluster: pod
security `restricted` passes, and the token is seen by these two alone.
"""

import json

from hera.workflows import models

from argosy.pipelines.pods import container_rights, plain

TOKEN = "argo-token"  # noqa: S105 - a volume's name
ACCOUNT_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount"
"""Where a client looks for its token (kubernetes: client-go/rest/config.go, InClusterConfig)."""

TOKEN_SECONDS = 3607
"""How long a token is good for, before the kubelet brings another: Kubernetes' own choice for pods."""


def patch(grace_seconds: int | None = None, *, memory: str | None = None, main_asks_kubernetes: bool = False) -> str:
    """A template's `podSpecPatch`.

    `grace_seconds` is the time between SIGTERM and SIGKILL, if not Kubernetes' own; `memory` that of `main`, a tag too;
    `main_asks_kubernetes` gives `main` the API token.
    """
    mounts = [plain(models.VolumeMount(name=TOKEN, mount_path=ACCOUNT_FOLDER, read_only=True))]
    gets = {"securityContext": plain(container_rights()), "volumeMounts": mounts}
    main: dict[str, object] = {}
    if memory:
        main["resources"] = {kind: {"memory": memory} for kind in ("limits", "requests")}
    if main_asks_kubernetes:
        main["volumeMounts"] = mounts
    changes = {
        "automountServiceAccountToken": False,
        "containers": [*([{"name": "main", **main}] if main else []), {"name": "wait", **gets}],
        "initContainers": [{"name": "init", **gets}],
        "volumes": [plain(models.Volume(name=TOKEN, projected=_account()))],
    }
    # A template has no field of its own for it (argo: pkg/apis/workflow/v1alpha1/workflow_types.go, Template).
    grace = {} if grace_seconds is None else {"terminationGracePeriodSeconds": grace_seconds}
    return json.dumps(grace | changes)


def _account() -> models.ProjectedVolumeSource:
    """What Kubernetes itself mounts into a pod (kubernetes: plugin/pkg/admission/serviceaccount/admission.go)."""
    namespace = models.DownwardAPIVolumeFile(
        path="namespace", field_ref=models.ObjectFieldSelector(field_path="metadata.namespace")
    )
    authority = models.ConfigMapProjection(
        name="kube-root-ca.crt", items=[models.KeyToPath(key="ca.crt", path="ca.crt")]
    )
    token = models.ServiceAccountTokenProjection(path="token", expiration_seconds=TOKEN_SECONDS)
    return models.ProjectedVolumeSource(
        sources=[
            models.VolumeProjection(service_account_token=token),
            models.VolumeProjection(config_map=authority),
            models.VolumeProjection(downward_api=models.DownwardAPIProjection(items=[namespace])),
        ]
    )
