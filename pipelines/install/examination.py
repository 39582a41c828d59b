"""Whether a cluster is as argosy needs it: one question, one finding."""

import json
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import requests

from argosy.pipelines.cluster.connection import Connection
from argosy.pipelines.cluster.errors import ClusterError
from argosy.pipelines.cluster.session import HASTY, reaching, session
from argosy.pipelines.install.accounts import STEPS, TRIGGERS, TRIGGERS_TOKEN
from argosy.pipelines.install.notes import CLIENTS
from argosy.pipelines.install.staging import STAGING
from argosy.pipelines.manifest import Json
from argosy.pipelines.names import GANG
from argosy.pipelines.placement import Storage

State = Literal["ok", "failed", "unknown"]

NOBODY = "argosy-doctor"
"""The end of an address for events to which nothing listens."""

SECONDS = 20


@dataclass(frozen=True)
class Finding:
    """The answer to one question; a failure's message holds its remedy."""

    question: str
    state: State
    message: str


def examine(connection: Connection) -> Iterator[Finding]:
    """What there is to say of a cluster, question after question."""
    server = _version(connection)
    yield server
    listens = False
    if server.state == "ok":
        yield _namespace(connection)
        triggers, listens = _triggers(connection)
        yield triggers
        yield _unsigned(connection)
    yield _objects(connection.namespace, listens=listens)


def _version(connection: Connection) -> Finding:
    try:
        version = _get(connection, "version").get("version", "of no version")
    except ClusterError as error:
        return Finding("server", "failed", str(error))
    return Finding(
        "server", "ok", f"{connection.url} is Argo {version}, and takes the token from {connection.token_from}"
    )


def _namespace(connection: Connection) -> Finding:
    try:
        _get(connection, f"workflows/{connection.namespace}?listOptions.limit=1&fields=metadata")
    except ClusterError as error:
        return Finding("namespace", "failed", str(error))
    return Finding("namespace", "ok", f"workflows of namespace {connection.namespace} may be listed")


def _triggers(connection: Connection) -> tuple[Finding, bool]:
    """What listens to pushes, and what it would run; and whether anything does."""
    bindings: list[Json] = []
    try:
        bindings = _get(connection, f"workflow-event-bindings/{connection.namespace}").get("items") or []
        templates = _get(connection, f"workflow-templates/{connection.namespace}").get("items") or []
    except ClusterError as error:
        return Finding("triggers", "unknown", str(error)), bool(bindings)
    there = {one["metadata"]["name"] for one in templates}
    submits = {one["metadata"]["name"]: _template(one) for one in bindings}
    missing = sorted(name for name, template in submits.items() if template and template not in there)
    if missing:
        what = f"{', '.join(missing)} would submit a WorkflowTemplate that is not there"
        return Finding("triggers", "failed", f"{what}; `argosy deploy PIPELINE | kubectl apply -f -` makes it"), True
    listeners = ", ".join(sorted(submits)) or "nothing"
    return Finding("triggers", "ok", f"pushes are listened to by {listeners}"), bool(submits)


def _template(binding: Json) -> str:
    reference: Json = binding["spec"].get("submit", {}).get("workflowTemplateRef", {})
    return "" if reference.get("clusterScope") else str(reference.get("name", ""))


def _unsigned(connection: Connection) -> Finding:
    """Argo's server hands on a request that no client has signed, and in mode `server` obeys it as itself
    (argo: server/auth/webhook/interceptor.go:96).
    """
    url = f"{connection.url}api/v1/events/{connection.namespace}/{NOBODY}"
    anonymous = requests.Session()
    anonymous.auth = _leave  # or requests would take credentials from ~/.netrc
    try:
        with reaching(connection):
            status = anonymous.post(
                url, json={}, verify=connection.verify, timeout=SECONDS, allow_redirects=False
            ).status_code
    except ClusterError as error:
        return Finding("webhooks", "failed", str(error))
    if status in (401, 403):
        return Finding("webhooks", "ok", f"a push that nobody signed is refused ({status})")
    if status == 200:
        remedy = "run Argo's server with --auth-mode=client (and sso), not with server"
        return Finding("webhooks", "failed", f"a push that nobody signed is obeyed; {remedy}")
    return Finding("webhooks", "failed", f"a push that nobody signed is answered {status}; is this Argo's server?")


def _leave(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request


def _objects(namespace: str, *, listens: bool) -> Finding:
    """What `argosy install` prints and Argo's server does not show; the webhooks' Secret, where something listens."""
    wanted = [
        f"serviceaccount/{STEPS}",
        f"serviceaccount/{GANG}",
        f"service/{GANG}",
        f"serviceaccount/{TRIGGERS}",
        f"secret/{TRIGGERS_TOKEN}",
        *([f"secret/{CLIENTS}"] if listens else []),
        f"persistentvolumeclaim/{Storage().models_claim}",
        f"configmap/{STAGING}",
    ]
    if not shutil.which("kubectl"):
        return Finding("objects", "unknown", "there is no kubectl here to look for them")
    try:
        there = _there(namespace, wanted)
    except (ValueError, OSError, subprocess.SubprocessError) as error:
        return Finding("objects", "unknown", f"kubectl cannot look for them: {error}")
    if missing := [one for one in wanted if one not in there]:
        remedy = f"`argosy install -n {namespace}` prints them, and tells of the Secret"
        if f"configmap/{STAGING}" in missing:
            remedy += f"; without ConfigMap {STAGING} staging ends in `failed to initialize semaphore`"
        return Finding("objects", "failed", f"{', '.join(missing)}: not in namespace {namespace}; {remedy}")
    return Finding("objects", "ok", f"what `argosy install` prints is in namespace {namespace} of kubectl's cluster")


def _there(namespace: str, wanted: Sequence[str]) -> set[str]:
    """Those of the objects that kubectl finds. Raises ValueError with what it says."""
    command = ["kubectl", "get", *wanted, "-n", namespace, "--ignore-not-found", "-o", "name"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    if done.returncode != 0:
        raise ValueError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "it says nothing")
    return set(done.stdout.split())


def _get(connection: Connection, path: str) -> Json:
    with reaching(connection):
        response = session(connection, HASTY).get(f"{connection.url}api/v1/{path}", verify=connection.verify)
        answer: Json = json.loads(response.content)
        return answer
