"""What pods may reach: names, the Kubernetes API, the stores, and a training's nodes each other."""

import ipaddress
from urllib.parse import SplitResult, urlsplit

from argosy.pipelines.install.objects import Object, made
from argosy.pipelines.install.settings import Installation, network_and_port
from argosy.pipelines.manifest import Json
from argosy.pipelines.names import GANG, GANG_LABEL

WORKFLOW = "workflows.argoproj.io/workflow"
"""Label of every pod of a workflow (argo: workflow/controller/workflowpod.go:204)."""

API_PORTS = (443, 6443)
_NODE_LOCAL_DNS = "169.254.20.10/32"
"""https://kubernetes.io/docs/tasks/administer-cluster/nodelocaldns/"""

_PORTS = {"http": 80, "https": 443}


def policies(settings: Installation) -> list[Object]:
    api = [_to(one) for one in settings.kubernetes_api] or [{"ports": [_tcp(port) for port in API_PORTS]}]
    nodes = {"podSelector": {"matchLabels": {GANG_LABEL: "true"}}}
    return [
        _policy(
            "Pods of workflows reach names, the Kubernetes API, to which Argo's executor reports, and the stores.\n"
            "Nothing reaches them.",
            "argosy-steps",
            {
                "podSelector": {"matchExpressions": [{"key": WORKFLOW, "operator": "Exists"}]},
                "egress": [_names(), *api, *stores(settings)],
            },
            settings,
        ),
        _policy(
            "The nodes of a training reach names, the stores, and each other, on any port.",
            GANG,
            {**nodes, "ingress": [{"from": [nodes]}], "egress": [_names(), {"to": [nodes]}, *stores(settings)]},
            settings,
        ),
    ]


def _policy(reason: str, name: str, spec: Json, settings: Installation) -> Object:
    spec = {"policyTypes": ["Ingress", "Egress"], **spec}
    return made(reason, "networking.k8s.io/v1", "NetworkPolicy", name, settings, spec=spec)


def stores(settings: Installation) -> list[Json]:
    """The destinations given, or else those of the addresses given."""
    if settings.egress:
        return [_to(one) for one in settings.egress]
    rules: list[Json] = []
    for address in (settings.s3_endpoint, settings.mlflow, settings.git):
        if address and (rule := _to_address(urlsplit(address), settings.namespace)) not in rules:
            rules.append(rule)
    return rules


def is_closed(settings: Installation) -> bool:
    """Whether no store is known."""
    return not stores(settings)


def is_open(settings: Installation) -> bool:
    """Whether some store is known by a name alone, which a policy cannot follow: its port is open at any address."""
    return any("to" not in rule for rule in stores(settings))


def _names() -> Json:
    servers = [{"namespaceSelector": _namespace("kube-system")}, {"ipBlock": {"cidr": _NODE_LOCAL_DNS}}]
    return {"to": servers, "ports": [{"protocol": protocol, "port": 53} for protocol in ("UDP", "TCP")]}


def _to(destination: str) -> Json:
    kind, _, name = destination.partition("/")
    if kind == "namespace":
        return {"to": [{"namespaceSelector": _namespace(name)}]}
    cidr, port = network_and_port(destination)
    return {"to": [{"ipBlock": {"cidr": cidr}}], "ports": [_tcp(port)]}


def _to_address(address: SplitResult, own: str) -> Json:
    host, port = address.hostname or "", address.port or _PORTS[address.scheme]
    try:
        return {"to": [{"ipBlock": {"cidr": str(ipaddress.ip_network(host))}}], "ports": [_tcp(port)]}
    except ValueError:
        rest = host.partition(".")[2]
    if not rest:
        return {"to": [{"namespaceSelector": _namespace(own)}]}
    namespace, _, kind = rest.partition(".")
    if kind in ("svc", "svc.cluster.local"):  # a Service's port need not be that of its pods, which a policy sees
        return {"to": [{"namespaceSelector": _namespace(namespace)}]}
    return {"ports": [_tcp(port)]}


def _tcp(port: int) -> Json:
    return {"protocol": "TCP", "port": port}


def _namespace(name: str) -> Json:
    return {"matchLabels": {"kubernetes.io/metadata.name": name}}
