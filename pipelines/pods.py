"""What argosy's pods have in common: volumes, environment, rights, and which failures are tried again."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from hera.workflows import Resources as Requirements
from hera.workflows import RetryPolicy, RetryStrategy, models
from pydantic import BaseModel

from argosy.pipelines.placement import STAGED_AT_A_TIME, Placement, Resources
from argosy.steps.contracts import FAILURE_CLASSES, NODE, RETRIED_EXIT_CODES, ExitCode, FailureClass

USER = 1000
"""User and group of every pod; the claims' files are given to this group."""


@dataclass(frozen=True)
class Mount:
    """A volume and where a container sees it."""

    volume: models.Volume
    path: str
    read_only: bool = False

    def as_read_only(self) -> "Mount":
        return replace(self, read_only=True)

    def model(self) -> models.VolumeMount:
        assert self.volume.name
        return models.VolumeMount(name=self.volume.name, mount_path=self.path, read_only=self.read_only or None)


def node_folder(name: str, path: str, host_path: str) -> Mount:
    """A folder of the node itself."""
    # `Directory` would leave the pod waiting for ever on a node that lacks it.
    source = models.HostPathVolumeSource(path=host_path, type="DirectoryOrCreate")
    return Mount(models.Volume(name=name, host_path=source), path)


def claim(name: str, path: str, claim_name: str) -> Mount:
    """A persistent volume that a claim holds."""
    source = models.PersistentVolumeClaimVolumeSource(claim_name=claim_name)
    return Mount(models.Volume(name=name, persistent_volume_claim=source), path)


def secret(name: str, path: str, secret_name: str) -> Mount:
    """The entries of a Secret as files; none where there is no such Secret."""
    source = models.SecretVolumeSource(secret_name=secret_name, optional=True)
    return Mount(models.Volume(name=name, secret=source), path, read_only=True)


def scratch(name: str, path: str) -> Mount:
    """A folder that lives as long as the pod."""
    return Mount(models.Volume(name=name, empty_dir=models.EmptyDirVolumeSource()), path)


def shared_memory(size: str | None) -> Mount:
    """Memory that processes share, so much of the pod's; a container's own holds 64 MiB: too little for loaders and
    for NCCL.
    """
    source = models.EmptyDirVolumeSource(medium="Memory", size_limit=models.Quantity(root=size) if size else None)
    return Mount(models.Volume(name="shared-memory", empty_dir=source), "/dev/shm")  # noqa: S108 - a mount point


def requirements(resources: Resources) -> Requirements:
    """Requests equal to limits: Kubernetes' guaranteed class, evicted last and disturbed by nobody."""
    cpu, memory = str(resources.cpu), resources.memory
    return Requirements(
        cpu_request=cpu,
        cpu_limit=cpu,
        memory_request=memory,
        memory_limit=memory,
        gpus=resources.gpus or None,
        gpu_flag=resources.accelerator.resource,
    )


def environment(name: str) -> list[models.EnvFromSource]:
    """The entries of the ConfigMap and of the Secret of this name as variables, of each where it exists."""
    return [
        models.EnvFromSource(config_map_ref=models.ConfigMapEnvSource(name=name, optional=True)),
        models.EnvFromSource(secret_ref=models.SecretEnvSource(name=name, optional=True)),
    ]


NODE_NAME = models.EnvVar(
    name=NODE, value_from=models.EnvVarSource(field_ref=models.ObjectFieldSelector(field_path="spec.nodeName"))
)


def affinity(needs: Sequence[tuple[str, str, str]], node: str | None) -> models.Affinity | None:
    """Only where a node's labels fulfil what is needed (label, operator, value); and rather on this node than on
    another, yet on any where that one has no room: a preference makes no pod wait.

    Argo replaces tags in a template's affinity as anywhere in it (argo: workflow/common/util.go:226).
    """
    if not needs and node is None:
        return None
    wanted = models.NodeAffinity()
    if needs:
        labels = [models.NodeSelectorRequirement(key=key, operator=how, values=[value]) for key, how, value in needs]
        terms = [models.NodeSelectorTerm(match_expressions=labels)]
        wanted.required_during_scheduling_ignored_during_execution = models.NodeSelector(node_selector_terms=terms)
    if node is not None:
        is_it = models.NodeSelectorRequirement(key="metadata.name", operator="In", values=[node])
        term = models.PreferredSchedulingTerm(weight=100, preference=models.NodeSelectorTerm(match_fields=[is_it]))
        wanted.preferred_during_scheduling_ignored_during_execution = [term]
    return models.Affinity(node_affinity=wanted)


def tolerations(placement: Placement) -> list[models.Toleration]:
    return [
        models.Toleration(
            key=one.key, value=one.value, effect=one.effect, operator="Exists" if one.value is None else "Equal"
        )
        for one in placement.tolerations
    ]


def semaphore(config_map: str) -> models.Synchronization:
    """As many pods at a time as a ConfigMap says."""
    entry = models.ConfigMapKeySelector(name=config_map, key=STAGED_AT_A_TIME)
    return models.Synchronization(semaphores=[models.SemaphoreRef(config_map_key_ref=entry)])


def plain(model: BaseModel) -> dict[str, Any]:
    """One of Hera's models as it stands in a manifest."""
    return model.model_dump(exclude_none=True, by_alias=True)


def pod_rights() -> models.PodSecurityContext:
    """Kubernetes' `restricted` pod security, as far as it concerns the pod."""
    return models.PodSecurityContext(
        run_as_non_root=True,
        run_as_user=USER,
        run_as_group=USER,
        fs_group=USER,
        seccomp_profile=models.SeccompProfile(type="RuntimeDefault"),
    )


def container_rights() -> models.SecurityContext:
    """Kubernetes' `restricted` pod security, as far as it concerns a container."""
    return models.SecurityContext(
        allow_privilege_escalation=False,
        capabilities=models.Capabilities(drop=["ALL"]),
        read_only_root_filesystem=True,
    )


FEW, MANY = 5, 100
"""Attempts after the first. Of a training each goes on where the one before was: only a lasting fault uses them up."""


def retries(preparations: Sequence[str], limit: int = FEW) -> RetryStrategy:
    """Infrastructure is tried again, and a pod that ran out of memory. `preparations` are the pod's init containers.

    An init container's exit code reaches Argo only as the node's message, with -1 in place of main's exit code
    (argo: workflow/controller/operator.go:1635,1778).
    """
    codes = ", ".join(f"'{code}'" for code in sorted(RETRIED_EXIT_CODES))
    expression = f"lastRetry.status == 'Error' || lastRetry.exitCode in [{codes}]"
    if preparations:
        lasting = [ExitCode.CODE] + [code for code, kind in FAILURE_CLASSES.items() if kind in _LASTING]
        listed = "|".join(str(int(code)) for code in sorted(lasting))
        before = "|".join(preparations)
        expression = f"({expression}) && !(lastRetry.message matches '^({before}): [^(]*[(]exit code ({listed})[)]')"
    return RetryStrategy(
        limit=limit,
        retry_policy=RetryPolicy.always,
        expression=expression,
        backoff=models.Backoff(duration="5s", factor=models.IntOrString(root=2), cap="5m"),
    )


def memory_of_attempt(first: str, after_running_out: str) -> str:
    """A tag that becomes the memory of an attempt: more after one that ran out of it.

    Argo replaces it when it makes the attempt's pod, in a template's `podSpecPatch` and arguments alike (argo:
    workflow/controller/operator.go:2382); the kernel's `OOMKilled` stands in the message alone.
    """
    ran_out = f"lastRetry.exitCode == '{int(ExitCode.OUT_OF_MEMORY)}' || lastRetry.message contains 'OOMKilled'"
    return f"{{{{={ran_out} ? '{after_running_out}' : '{first}'}}}}"


_LASTING = {FailureClass.CODE, FailureClass.DATA, FailureClass.CONFIGURATION}
