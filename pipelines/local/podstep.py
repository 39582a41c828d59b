"""A template that becomes a pod: admitted, given its inputs, run, and its outputs taken."""

import asyncio
import errno
import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from argosy.pipelines import status as s
from argosy.pipelines.local import outputs, retry
from argosy.pipelines.local.artifacts import ArtifactError, Repository
from argosy.pipelines.local.interrupt import Stop, after
from argosy.pipelines.local.outputs import OutputError
from argosy.pipelines.local.paths import OutsideError, within
from argosy.pipelines.local.pod import LOG, Pod, PodResult, PodRunner
from argosy.pipelines.local.retry import AmountError
from argosy.pipelines.local.store import Home, RunFolder
from argosy.pipelines.local.tree import Tree
from argosy.pipelines.manifest import Json, Spec, Template
from argosy.pipelines.status import Node

GRACE_SECONDS = 30.0  # Kubernetes' default terminationGracePeriodSeconds
MISTAKES = (ArtifactError, OutputError, OutsideError, AmountError)
"""What a pod's own definition, or what it wrote, may get wrong: its node ends in Error."""

MACHINE_FAULTS = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO))
"""What no step is to blame for: the run ends here, and can be resumed."""

DEADLINE_EXCEEDED = "Pod was active on the node longer than the specified deadline"  # kubelet's words


@dataclass(frozen=True)
class Volumes:
    """Folders of this machine that stand for a workflow's volumes."""

    home: Home
    run: RunFolder
    spec: Spec

    def of(self, template: Template, pod: Path) -> dict[str, Path]:
        """Volume name -> folder: a claim and a host path live as long as the project's `.argosy`, a claim template's
        volume as long as the run, an emptyDir as long as the pod.
        """
        claims = [claim["metadata"]["name"] for claim in self.spec.volume_claim_templates]
        folders = {name: within(self.run.volumes, name) for name in claims}
        for volume in (*self.spec.volumes, *template.volumes):
            folders[volume["name"]] = self._folder(volume, pod)
        return folders

    def _folder(self, volume: Json, pod: Path) -> Path:
        if claim := volume.get("persistentVolumeClaim"):
            return within(self.home.claims, str(claim["claimName"]))
        if host := volume.get("hostPath"):
            return within(self.home.host_paths, str(host["path"]))
        return within(pod / "volumes", str(volume["name"]))


class PodStep:
    """Runs pods, so many at a time."""

    def __init__(
        self,
        tree: Tree,
        runner: PodRunner,
        repository: Repository,
        volumes: Volumes,
        *,
        slots: int,
    ) -> None:
        self._tree = tree
        self._runner = runner
        self._repository = repository
        self._volumes = volumes
        self._slots = asyncio.Semaphore(slots)

    async def run(
        self, node: Node, template: Template, limit: asyncio.Semaphore | None, stop: Stop, *, captures: bool
    ) -> Node:
        """Run a pod that is pending as this node; returns the node, fulfilled."""
        try:
            pod = self._pod(node, template, captures=captures)
            with after(retry.time_limit(template.timeout), stop, DEADLINE_EXCEEDED):
                async with self._admission(limit):
                    if stop.reason:
                        return self._tree.mark(node, s.FAILED, stop.reason)
                    self._tree.mark(node, s.RUNNING)
                    self._prepare(pod, template)
                    with after(retry.time_limit(template.active_deadline_seconds), stop, DEADLINE_EXCEEDED):
                        result = await self._runner.run(pod, stop.event)
            return self._finished(node, template, pod, result, stop)
        except MISTAKES as error:
            return self._tree.mark(node, s.ERROR, str(error))
        except OSError as error:
            if error.errno in MACHINE_FAULTS:
                raise
            return self._tree.mark(node, s.ERROR, f"{error.strerror}: {error.filename}" if error.errno else str(error))

    def _pod(self, node: Node, template: Template, *, captures: bool) -> Pod:
        name = self._tree.pod_name(node.name, template.name)
        folder = self._volumes.run.pods / name
        assert template.pod is not None
        artifacts = (*template.inputs.artifacts, *template.outputs.artifacts)
        parameters = [p.value_from.path for p in template.outputs.parameters if p.value_from]
        return Pod(
            name=name,
            node_id=node.id,
            folder=folder,
            main=template.pod,
            init=tuple(template.init_containers),
            volumes=self._volumes.of(template, folder),
            private_paths=tuple(path for path in (*(a.path for a in artifacts), *parameters) if path),
            captures_result=captures,
            grace_seconds=_grace(template),
        )

    def _prepare(self, pod: Pod, template: Template) -> None:
        """A fresh folder, the volumes, and the input artifacts in their places.

        A pod that runs again after a kill goes on in the same log.
        """
        for leftover in pod.folder.glob("*"):
            if leftover.is_dir():
                shutil.rmtree(leftover)
            elif leftover.name != LOG:
                leftover.unlink()
        for folder in (pod.folder / "root" / "tmp", *pod.volumes.values()):
            folder.mkdir(parents=True, exist_ok=True)
        for artifact in template.inputs.artifacts:
            if artifact.path:
                self._repository.load(artifact, self._runner.path(pod, artifact.path))

    def _finished(self, node: Node, template: Template, pod: Pod, result: PodResult, stop: Stop) -> Node:
        if result.exit_code is not None:
            node.outputs, missing = outputs.of_pod(template, pod, result, self._runner, self._repository)
            if missing and result.exit_code == 0:  # else main's own failure is what counts
                return self._tree.mark(node, s.ERROR, f"wait: Error (exit code 64): {missing}")
        if stop.reason == DEADLINE_EXCEEDED:
            return self._tree.mark(node, s.FAILED, stop.reason)
        if result.exit_code == 0:
            return self._tree.mark(node, s.SUCCEEDED)
        return self._tree.mark(node, s.FAILED, stop.reason or result.message)

    @asynccontextmanager
    async def _admission(self, limit: asyncio.Semaphore | None) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            if limit:
                await stack.enter_async_context(limit)
            await stack.enter_async_context(self._slots)
            yield


def _grace(template: Template) -> float:
    """The one part of a pod spec patch that means something to a process. Raises AmountError."""
    if not template.pod_spec_patch:
        return GRACE_SECONDS
    try:
        patch = yaml.safe_load(template.pod_spec_patch)
        return float(patch.get("terminationGracePeriodSeconds", GRACE_SECONDS))
    except (yaml.YAMLError, AttributeError, TypeError, ValueError) as error:
        raise AmountError(f"podSpecPatch: {template.pod_spec_patch!r} is no patch of a pod: {error}") from error
