"""What is left to a person: credentials, and what argosy cannot know."""

import textwrap
from collections.abc import Iterator

from argosy.pipelines.install.accounts import TRIGGERS
from argosy.pipelines.install.network import is_closed, is_open
from argosy.pipelines.install.objects import USER
from argosy.pipelines.install.queue import cluster_queue
from argosy.pipelines.install.settings import Installation
from argosy.pipelines.install.stores import DATA, KEY, KEY_ID, REGISTRY

CLIENTS = "argo-workflows-webhook-clients"
"""The Secret by which Argo's server knows a webhook (argo: server/auth/webhook/interceptor.go)."""


def notes(settings: Installation) -> Iterator[str]:
    """Paragraphs."""
    yield from _credentials(settings)
    yield from _webhooks(settings)
    yield from _places(settings)
    yield from _nodes(settings)


def _credentials(settings: Installation) -> Iterator[str]:
    create = f"kubectl create secret generic -n {settings.namespace}"
    yield (
        f"Credentials of the data ({KEY_ID}, {KEY}), from a file with lines KEY=VALUE:\n"
        f"  {create} {DATA} --from-env-file=FILE"
    )
    if settings.mlflow:
        yield (
            "Credentials of MLflow (MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD,\n"
            f"and {KEY_ID}, {KEY} where it leaves artifacts in a bucket):\n"
            f"  {create} {REGISTRY} --from-env-file=FILE\n"
            "A link to MLflow on every workflow in the Argo UI, in Argo's ConfigMap workflow-controller-configmap:\n"
            "  links: |\n"
            f"    - {{name: MLflow, scope: workflow, url: '{settings.mlflow}'}}"
        )
    if settings.git:
        yield (
            "Credentials of the git server, from a file with a line `machine HOST login NAME password PASSWORD`:\n"
            f"  {create} argosy-git --from-file=.netrc=FILE"
        )


def _webhooks(settings: Installation) -> Iterator[str]:
    yield (
        'The secret that signs pushes, from a file that holds `type: github` (or gitlab) and `secret: "..."`:\n'
        f"  kubectl create secret generic -n {settings.namespace} {CLIENTS} --from-file={TRIGGERS}=FILE\n"
        "An empty secret lets anyone in. So does Argo's server with --auth-mode=server: it obeys a push that nobody\n"
        "signed. Run it with --auth-mode=client; `argosy doctor` tells."
    )


def _places(settings: Installation) -> Iterator[str]:
    if settings.cache == "node" and not settings.image:
        yield (
            f"{settings.node_folder} of each node must belong to user {USER}. `--image IMAGE` adds a DaemonSet that\n"
            f"sees to it; by hand, on each node: install -d -o {USER} -g {USER} {settings.node_folder}"
        )
    if not settings.kubernetes_api:
        yield (
            "The Kubernetes API may be at any address, on ports 443 and 6443: --kubernetes-api NETWORK:PORT narrows\n"
            "it. `kubectl get endpointslices -n default -l kubernetes.io/service-name=kubernetes` names the address."
        )
    if is_closed(settings):
        yield (
            "No store is known, so the pods reach none: --s3-endpoint, --mlflow, --git or --egress NETWORK:PORT lets\n"
            "them through."
        )
    if is_open(settings):
        yield "A store that is known by its name is let through on its port at any address: --egress NETWORK:PORT."


def _nodes(settings: Installation) -> Iterator[str]:
    if settings.access_mode == "ReadWriteOnce":
        yield (
            "The claims can be mounted on one node at a time. Trainings on several nodes need ReadWriteMany, and a\n"
            "storage class that has it."
        )
    if settings.queue:
        indented = textwrap.indent(cluster_queue(settings.queue), "  ")
        yield (
            f"Kueue's ClusterQueue {settings.queue}, if there is none yet, with quotas of your own. Pods that ask\n"
            f"for a resource which it does not name are never admitted.\n{indented}".rstrip()
        )
