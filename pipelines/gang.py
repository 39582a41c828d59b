"""A training on several nodes, or from a queue: a Job with a pod for each node, and the pod that makes it."""

import json
import re
from contextvars import Context
from typing import Any

from hera.workflows import Container, models

from argosy.pipelines import assembly, executor, names, pods, quantities
from argosy.pipelines.assembly import Surroundings
from argosy.pipelines.calls import Call, Tag
from argosy.pipelines.code import Git
from argosy.pipelines.folders import MODELS, OUTPUT, PROJECT
from argosy.pipelines.placement import Placement, Resources, Storage
from argosy.pipelines.queues import Nodes, Queue, Volcano
from argosy.pipelines.spec import Registry
from argosy.pipelines.training import Training
from argosy.pipelines.training_pod import database, training_pod
from argosy.steps.contracts import LEADER, NODE_RANK, Step

Json = dict[str, Any]

RUN, MEMORY = "workflow_name", "pod_memory"
"""What is filled in beside the template's inputs; no input has an underscore in its name."""

PORT = 29500  # torchrun's own choice
DAY_SECONDS = 24 * 60 * 60
LEEWAY_SECONDS = 30
"""That the pod which follows a Job has after the Job's pods have ended."""

SMALL = Resources(cpu="100m", memory="256Mi")

KUEUE = "kueue.x-k8s.io"
"""Labels and annotations: kueue pkg/controller/constants/constants.go, pkg/controller/jobs/job/job_controller.go,
apis/kueue/v1beta2/topology_types.go."""

_TAG = re.compile(r"\{\{inputs\.parameters\.([-\w]+)\}\}")


def launcher(
    training: Training,
    name: str,
    image: str,
    *,
    storage: Storage,
    code: Git | None,
    registry: Registry | None,
    placement: Placement,
) -> Container:
    """A template whose pod makes the Job, prints what its pods print, and ends as they do."""
    run = f"{{{{inputs.parameters.{RUN}}}}}"
    # In a context of its own: Hera adds a template that is made below `with Workflow(...)` to that workflow.
    node = Context().run(training_pod, training, name, image, storage=storage, code=code, registry=registry, run=run)
    made = json.dumps(job(training, node, placement))
    group = pod_group(training)
    call = Call(
        Step.GANG,
        fixed={
            "output": OUTPUT,
            "run": Tag("{{workflow.name}}"),
            "job": made,
            "group": json.dumps(group) if group else "",
            "arguments": {key: Tag(_argument(key, training)) for key in sorted(set(_TAG.findall(made)))},
            "models": MODELS,
        },
    )
    # On one machine the nodes are processes of this pod, and see the folders that it mounts.
    mounts = [*assembly.read(storage, code), assembly.model_store(storage).as_read_only()]
    if database(registry):
        mounts.append(assembly.registry_volume(storage).as_read_only())
    template = assembly.pod(call, name, image, SMALL, Surroundings(mounts=mounts), retries=pods.MANY)
    template.inputs = models.Inputs(parameters=assembly.inputs_of(node))
    template.working_dir = PROJECT
    template.service_account_name = names.GANG
    grace = int(quantities.seconds(training.grace)) + LEEWAY_SECONDS
    template.pod_spec_patch = executor.patch(grace, main_asks_kubernetes=True)
    return template


def job(training: Training, node: Container, placement: Placement) -> Json:
    """An Indexed Job whose pods are what this template's would be; whoever makes it gives it its name.

    One pod that fails ends it: the pod that follows it decides, by the table of exit codes, and Argo tries again.
    """
    nodes = training.nodes_at_most
    spec = {
        "completionMode": "Indexed",
        "completions": nodes,
        "parallelism": nodes,
        "backoffLimit": 0,
        "podReplacementPolicy": "Failed",
        "ttlSecondsAfterFinished": DAY_SECONDS,
        "template": {
            "metadata": {"labels": {names.GANG_LABEL: "true"}, "annotations": _topology(training)},
            "spec": _pod(training, node, placement),
        },
    }
    metadata = {"labels": _labels(training), "annotations": _partly(training)}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def pod_group(training: Training) -> Json | None:
    """What Volcano starts together (volcano: pkg/apis/scheduling/v1beta1/types.go)."""
    if not isinstance(training.queue, Volcano):
        return None
    spec: Json = {"minMember": training.nodes_at_most, "queue": training.queue.queue}
    if training.queue.priority:
        spec["priorityClassName"] = training.queue.priority
    return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"labels": {}}, "spec": spec}


def _argument(key: str, training: Training) -> str:
    if key == RUN:
        return "{{workflow.name}}"
    if key == MEMORY:
        return pods.memory_of_attempt(training.resources.memory, training.memory_after_running_out)
    return f"{{{{inputs.parameters.{key}}}}}"


def _pod(training: Training, node: Container, placement: Placement) -> Json:
    template = pods.plain(node._build_template())  # noqa: SLF001 - Hera's protocol
    main = {"name": "main", **template["container"]}
    main["env"] = [*map(pods.plain, _place_among_nodes()), *main["env"]]
    for amounts in main["resources"].values():
        amounts["memory"] = f"{{{{inputs.parameters.{MEMORY}}}}}"
    held: Json = {
        key: template[key] for key in ("initContainers", "volumes", "securityContext", "affinity") if key in template
    }
    where = {
        "nodeSelector": dict(placement.node_selector),
        "tolerations": [pods.plain(one) for one in pods.tolerations(placement)],
        "schedulerName": "volcano" if isinstance(training.queue, Volcano) else None,
    }
    return {
        "restartPolicy": "Never",
        "subdomain": names.GANG,
        "terminationGracePeriodSeconds": int(quantities.seconds(training.grace)),
        "automountServiceAccountToken": False,
        **held,
        **{key: value for key, value in where.items() if value},
        "containers": [main],
    }


def _place_among_nodes() -> list[models.EnvVar]:
    """What Kubernetes knows of a Job's pod; the leader's name is whole, since rank 0 must find itself by it too."""

    def field(path: str) -> models.EnvVarSource:
        return models.EnvVarSource(field_ref=models.ObjectFieldSelector(field_path=path))

    leader = f"$(JOB_NAME)-0.{names.GANG}.$(JOB_NAMESPACE).svc.cluster.local:{PORT}"
    return [
        models.EnvVar(name="JOB_NAME", value_from=field("metadata.labels['batch.kubernetes.io/job-name']")),
        models.EnvVar(name="JOB_NAMESPACE", value_from=field("metadata.namespace")),
        models.EnvVar(
            name=NODE_RANK, value_from=field("metadata.annotations['batch.kubernetes.io/job-completion-index']")
        ),
        models.EnvVar(name=LEADER, value=leader),
    ]


def _labels(training: Training) -> dict[str, str]:
    if not isinstance(training.queue, Queue):
        return {}
    labels = {f"{KUEUE}/queue-name": training.queue.name}
    return labels | ({f"{KUEUE}/priority-class": training.queue.priority} if training.queue.priority else {})


def _partly(training: Training) -> dict[str, str]:
    """Fewer nodes are admitted where the quota has room for no more."""
    if not isinstance(training.nodes, Nodes):
        return {}
    return {
        f"{KUEUE}/job-min-parallelism": str(training.nodes.at_least),
        f"{KUEUE}/job-completions-equal-parallelism": "true",
    }


def _topology(training: Training) -> dict[str, str]:
    if not isinstance(training.queue, Queue) or training.queue.topology is None:
        return {}
    topology = training.queue.topology
    return {f"{KUEUE}/podset-{'required' if topology.required else 'preferred'}-topology": topology.level}
