"""Who acts in the namespace: the steps' pods, what starts a training on several nodes, and the webhooks.

Each may do what it must, and nothing else.
"""

from collections.abc import Sequence

from argosy.pipelines.install.objects import Object, made
from argosy.pipelines.install.settings import Installation
from argosy.pipelines.manifest import Json
from argosy.pipelines.names import GANG

STEPS, TRIGGERS = "argosy-steps", "argosy-triggers"
TRIGGERS_TOKEN = f"{TRIGGERS}.service-account-token"
"""Where Argo's server looks for the account's token (argo: util/secrets/name.go)."""

_RBAC = "rbac.authorization.k8s.io"


def accounts(settings: Installation) -> list[Object]:
    """Rights as Argo needs them: of its executor (manifests/quick-start/base/executor), and of its server for an event
    (server/event/event_server.go:84, server/event/dispatch/operation.go:105,167).
    """
    executor = [_rule(["workflowtaskresults"], ["create", "patch"])]
    launcher = [
        *executor,
        _rule(["jobs"], ["create", "list", "watch", "delete"], "batch"),
        _rule(["pods"], ["list", "watch"], ""),
        _rule(["pods/log"], ["get"], ""),
        _rule(["events"], ["list"], ""),
        _rule(["workloads"], ["list"], "kueue.x-k8s.io"),
        _rule(["podgroups"], ["create", "delete"], "scheduling.volcano.sh"),
    ]
    submitter = [
        _rule(["workfloweventbindings"], ["list"]),
        _rule(["workflowtemplates"], ["get"]),
        _rule(["workflows"], ["create"]),
    ]
    token = made(
        f"The token with which Argo's server acts for {TRIGGERS}. Kubernetes fills it in.",
        "v1",
        "Secret",
        TRIGGERS_TOKEN,
        settings,
        annotations={"kubernetes.io/service-account.name": TRIGGERS},
        type="kubernetes.io/service-account-token",
    )
    return [
        *_account(STEPS, "Steps' pods: Argo's executor in them reports what a step gave.", executor, settings),
        *_account(GANG, "The pod that starts a training on several nodes, and follows it.", launcher, settings),
        *_account(TRIGGERS, "Signed webhooks: they submit workflow templates.", submitter, settings),
        token,
    ]


def _rule(resources: Sequence[str], verbs: Sequence[str], group: str = "argoproj.io") -> Json:
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}


def _account(name: str, reason: str, rules: Sequence[Json], settings: Installation) -> list[Object]:
    role = {"apiGroup": _RBAC, "kind": "Role", "name": name}
    subject = {"kind": "ServiceAccount", "name": name, "namespace": settings.namespace}
    return [
        made(reason, "v1", "ServiceAccount", name, settings),
        made(f"All that {name} may do.", f"{_RBAC}/v1", "Role", name, settings, rules=list(rules)),
        made(f"Gives it to {name}.", f"{_RBAC}/v1", "RoleBinding", name, settings, roleRef=role, subjects=[subject]),
    ]
