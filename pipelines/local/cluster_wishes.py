"""What a training asks of a cluster that no field of its template says: the queue of its Job, and its accelerator."""

from collections.abc import Iterator

from argosy.pipelines.manifest import Json
from argosy.pipelines.started import job_of, option_of

_BY_LABEL = {"kueue.x-k8s.io/queue-name": "queue", "kueue.x-k8s.io/priority-class": "priority"}
_BY_ANNOTATION = {
    "kueue.x-k8s.io/podset-required-topology": "topology",
    "kueue.x-k8s.io/podset-preferred-topology": "topology",
    "kueue.x-k8s.io/job-min-parallelism": "nodes at least",
}


def wishes(template: Json) -> Iterator[str]:
    """In the words of `Training`."""
    container = template.get("container") or {}
    yield from _accelerator(template)
    if job := job_of(container):
        pods = job["spec"]["template"]
        metadata = [job.get("metadata") or {}, pods.get("metadata") or {}]
        for kind, words in (("labels", _BY_LABEL), ("annotations", _BY_ANNOTATION)):
            yield from (words[key] for one in metadata for key in one.get(kind) or {} if key in words)
        if option_of(container, "group"):
            yield "queue"
        yield from _accelerator(pods["spec"])


def _accelerator(pod: Json) -> Iterator[str]:
    nodes = (pod.get("affinity") or {}).get("nodeAffinity") or {}
    if nodes.get("requiredDuringSchedulingIgnoredDuringExecution"):
        yield "accelerator"
