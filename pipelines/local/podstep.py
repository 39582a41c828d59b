"""A template that becomes a pod: admitted, given its inputs, run, and its outputs taken."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from argosy.pipelines import status as s
from argosy.pipelines.local import outputs, retry
from argosy.pipelines.local.artifacts import ArtifactError, Repository
from argosy.pipelines.local.interrupt import Interrupt
from argosy.pipelines.local.outputs import OutputError
from argosy.pipelines.local.paths import OutsideError, within
from argosy.pipelines.local.pod import Pod, PodResult, PodRunner
from argosy.pipelines.local.store import Home, RunFolder
from argosy.pipelines.local.tree import Tree
from argosy.pipelines.manifest import Json, Spec, Template
from argosy.pipelines.status import Node

GRACE_SECONDS = 30.0  # Kubernetes' default terminationGracePeriodSeconds
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
        interrupt: Interrupt,
        *,
        slots: int,
    ) -> None:
        self._tree = tree
        self._runner = runner
        self._repository = repository
        self._volumes = volumes
        self._interrupt = interrupt
        self._slots = asyncio.Semaphore(slots)

    async def run(self, node: Node, template: Template, limit: asyncio.Semaphore | None, *, captures: bool) -> Node:
        """Run a pod that is pending as this node; returns the node, fulfilled."""
        try:
            pod = self._pod(node, template, captures=captures)
        except OutsideError as error:
            return self._tree.mark(node, s.ERROR, str(error))
        stop = asyncio.Event()
        with self._deadline(template, stop) as has_expired:
            async with self._admission(limit):
                if self._interrupt.is_set:
                    return self._tree.mark(node, s.FAILED, self._interrupt.message)
                if has_expired():
                    return self._tree.mark(node, s.FAILED, DEADLINE_EXCEEDED)
                self._tree.mark(node, s.RUNNING)
                try:
                    self._prepare(pod, template)
                    result = await self._supervised(pod, stop)
                except (ArtifactError, OutsideError) as error:
                    return self._tree.mark(node, s.ERROR, str(error))
        return self._finished(node, template, pod, result, DEADLINE_EXCEEDED if has_expired() else "")

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
        """A fresh folder, the volumes, and the input artifacts in their places."""
        if pod.folder.exists():  # from a run that was killed
            shutil.rmtree(pod.folder)
        for folder in (pod.folder / "root" / "tmp", *pod.volumes.values()):
            folder.mkdir(parents=True, exist_ok=True)
        for artifact in template.inputs.artifacts:
            if artifact.path:
                self._repository.load(artifact, self._runner.path(pod, artifact.path))

    async def _supervised(self, pod: Pod, stop: asyncio.Event) -> PodResult:
        """Run the pod; an interrupt of the run stops it too."""

        async def pass_on() -> None:
            await self._interrupt.wait()
            stop.set()

        interrupted = asyncio.ensure_future(pass_on())
        try:
            return await self._runner.run(pod, stop)
        finally:
            interrupted.cancel()

    def _finished(self, node: Node, template: Template, pod: Pod, result: PodResult, expired: str) -> Node:
        try:
            node.outputs = outputs.of_pod(template, pod, result, self._runner, self._repository)
        except (OutputError, OutsideError) as error:
            node.outputs = s.Values(exit_code=_text(result.exit_code), result=result.result)
            if result.exit_code == 0:  # else main's own failure is what counts
                return self._tree.mark(node, s.ERROR, f"wait: Error (exit code 64): {error}")
        if reason := expired or (self._interrupt.is_set and self._interrupt.message):
            return self._tree.mark(node, s.FAILED, reason)
        if result.exit_code == 0:
            return self._tree.mark(node, s.SUCCEEDED)
        return self._tree.mark(node, s.FAILED, result.message)

    @asynccontextmanager
    async def _admission(self, limit: asyncio.Semaphore | None) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            if limit:
                await stack.enter_async_context(limit)
            await stack.enter_async_context(self._slots)
            yield

    @contextmanager
    def _deadline(self, template: Template, stop: asyncio.Event) -> Iterator[Callable[[], bool]]:
        """Stop the pod when its own time is up. Yields a function that tells whether it was."""
        limits = [retry.seconds(limit) for limit in (template.timeout, template.active_deadline_seconds) if limit]
        expired = asyncio.Event()

        def expire() -> None:
            expired.set()
            stop.set()

        timer = asyncio.get_running_loop().call_later(min(limits), expire) if limits else None
        try:
            yield expired.is_set
        finally:
            if timer:
                timer.cancel()


def _grace(template: Template) -> float:
    """The one part of a pod spec patch that means something to a process."""
    if not template.pod_spec_patch:
        return GRACE_SECONDS
    patch = yaml.safe_load(template.pod_spec_patch)
    return float(patch.get("terminationGracePeriodSeconds", GRACE_SECONDS))


def _text(code: int | None) -> str | None:
    return None if code is None else str(code)
