"""A manifest becomes one workflow on a cluster, however often it is sent and whatever becomes of the answers."""

from argosy.pipelines.cluster.errors import ClusterError, ExistsError, LostError, MissingError
from argosy.pipelines.cluster.following import persistent
from argosy.pipelines.cluster.server import ArgoServer
from argosy.pipelines.identity import named, others
from argosy.pipelines.manifest import Json

ASKED_FOR_SECONDS = 30

TITLE = "workflows.argoproj.io/title"
COMMIT, BRANCH, SUBMITTED_BY = "argosy/commit", "argosy/branch", "argosy/submitted-by"
"""Annotations, and no labels: a label's value may not hold a slash, a space or 64 characters."""


def submit(server: ArgoServer, document: Json, name: str, *, again: bool) -> tuple[str, bool]:
    """The name of the manifest's run, and whether it was made now and not found; `again` finds none.

    Raises ClusterError.
    """
    for candidate in (name, *others(name)) if again else (name,):
        is_new = _put(server, named(document, candidate))
        if is_new or not again:
            return candidate, is_new
    raise ClusterError(f"{name} was run as often as can be counted; change a value")


def annotated(document: Json, annotations: dict[str, str]) -> Json:
    """The manifest with annotations, those without text left out, and a title that tells commits apart."""
    metadata = document["metadata"]
    known = metadata.get("annotations") or {}
    told = {key: text for key, text in annotations.items() if text}
    if COMMIT in told and TITLE in known:
        told[TITLE] = f"{known[TITLE]} {told[COMMIT][:7]}"
    return {**document, "metadata": {**metadata, "annotations": {**known, **told}}}


def _put(server: ArgoServer, workflow: Json) -> bool:
    """Whether it was made; False if it was there."""
    name = workflow["metadata"]["name"]
    try:
        server.workflow(name)  # also in the archive, where creating would not find it
    except MissingError:
        return _created(server, workflow, name)
    return False


def _created(server: ArgoServer, workflow: Json, name: str) -> bool:
    has_lost = False

    def create() -> bool:
        nonlocal has_lost
        try:
            server.create(workflow)
        except ExistsError:
            return has_lost  # then it is an earlier attempt that made it
        except MissingError as error:
            remedy = "ARGO_NAMESPACE, or `namespace` of the cluster's profile, names another"
            raise ClusterError(f"{error}; {remedy}") from error
        except LostError:
            has_lost = True
            raise
        return True

    try:
        return persistent(create, ASKED_FOR_SECONDS)
    except LostError as error:
        raise LostError(f"{error}; whether run {name} was made, `argosy show {name} -c` tells") from error
