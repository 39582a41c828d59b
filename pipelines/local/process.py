"""Pods as processes of this machine.

Each container is one process in a session of its own. Its standard output and error go to the pod's `main.log`
without passing through the runner. What a process leaves behind when it ends is killed, as a container's would be.
"""

import asyncio
import errno
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from argosy.pipelines.local import orphans
from argosy.pipelines.local.paths import PathMap, within
from argosy.pipelines.local.pod import LOG, Pod, PodResult
from argosy.pipelines.manifest import Container, VolumeMount

NOT_STARTED = 64  # what Argo's emissary exits with when it cannot start the command (cmd/argoexec/main.go:30)
RESULT_LIMIT = 256 * 1024  # bytes; Argo keeps the last ones (workflow/executor/executor.go:851)
TERMINATION_LIMIT = 4096  # bytes (kubelet: MaxContainerTerminationMessageLength)
LOG_TAIL_BYTES, LOG_TAIL_LINES = 2048, 80  # kubelet: terminationMessagePolicy FallbackToLogsOnError
POD_FIELDS = {"spec.nodeName": platform.node}
"""Fields of a pod that a variable can be, and what they are here."""

IN_CLUSTER = "KUBERNETES_SERVICE_HOST"
"""By this variable a process knows that it is a pod of a cluster (kubernetes: client-go/rest/config.go,
InClusterConfig). What `argosy run` starts is none, where argosy itself is in one, too.
"""

_EXPANSION = re.compile(r"\$(\$|\(([-._a-zA-Z][-._a-zA-Z0-9]*)\))")


@dataclass(frozen=True)
class Machine:
    """What pods share on this machine."""

    run_uid: str
    mounts: dict[str, Path]
    """Paths that images hold, such as the project's code -> the folder that holds it here."""
    environment: dict[str, str]

    @classmethod
    def of(cls, run_uid: str, mounts: dict[str, Path]) -> "Machine":
        """Commands such as `python` come from the environment that argosy itself runs in."""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        known = {name: value for name, value in os.environ.items() if name != IN_CLUSTER}
        return cls(run_uid, mounts, {**known, "PATH": path, orphans.RUN_MARK: run_uid})


class ProcessPods:
    """A PodRunner whose pods are processes."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._processes: set[int] = set()
        orphans.adopt()

    def path(self, pod: Pod, inside: str) -> Path:
        return self._paths(pod, pod.main).outside(inside)

    async def run(self, pod: Pod, stop: asyncio.Event) -> PodResult:
        for container in pod.init:
            code = await self._container(pod, container, stop)
            if code != 0:
                return PodResult(None, self._message(pod, container, code))
        code = await self._container(pod, pod.main, stop)
        result = _captured(pod) if pod.captures_result else None
        return PodResult(code, self._message(pod, pod.main, code) if code else "", result)

    async def _container(self, pod: Pod, container: Container, stop: asyncio.Event) -> int:
        """One container from start to end; its exit code as a shell would give it (128 + signal)."""
        paths = self._paths(pod, container)
        _termination_log(pod, container).unlink(missing_ok=True)
        argv = self._argv(container, paths, pod)
        folder = paths.outside(container.working_dir) if container.working_dir else pod.folder / "root"
        folder.mkdir(parents=True, exist_ok=True)
        environment = self._environment(pod, container, paths)
        captures = pod.captures_result and container is pod.main
        with (pod.folder / LOG).open("ab") as log, _output(pod, log, captures=captures) as output:
            command = shutil.which(argv[0], path=environment["PATH"])
            if command is None:
                message = f'failed to find name in PATH: exec: "{argv[0]}": executable file not found in $PATH'
                _termination_log(pod, container).write_text(message)
                return NOT_STARTED
            try:
                process = subprocess.Popen(  # noqa: ASYNC220 - starts in a millisecond; its end is waited for below
                    [command, *argv[1:]],
                    cwd=folder,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=log,
                    start_new_session=True,
                )
            except (OSError, ValueError) as error:  # too large an argument (execve(2), MAX_ARG_STRLEN), one with a NUL
                too_large = isinstance(error, OSError) and error.errno == errno.E2BIG
                reason = "Argument list too long; pass large values as an artifact" if too_large else str(error)
                _termination_log(pod, container).write_text(f"cannot start {argv[0]}: {reason}")
                return NOT_STARTED
        self._processes.add(process.pid)
        code = await self._end(pod, process, stop)
        if captures:
            _append_output(pod)
        return code

    async def _end(self, pod: Pod, process: "subprocess.Popen[bytes]", stop: asyncio.Event) -> int:
        ended = asyncio.ensure_future(_ended(process))
        stopped = asyncio.ensure_future(stop.wait())
        try:
            await asyncio.wait((ended, stopped), return_when=asyncio.FIRST_COMPLETED)
            if not ended.done():
                _signal(process, signal.SIGTERM)
                await asyncio.wait((ended,), timeout=pod.grace_seconds)
        finally:
            ended.cancel()
            stopped.cancel()
            _signal(process, signal.SIGKILL)  # not reaped yet, so the group's number is still its own
            code = process.wait()
            orphans.kill_adopted(pod.node_id, self._processes)
            self._processes.discard(process.pid)
        return 128 - code if code < 0 else code

    def _argv(self, container: Container, paths: PathMap, pod: Pod) -> list[str]:
        declared = _declared(container)
        argv = [paths.rewrite(_expanded(word, declared)) for word in (*container.command, *container.args)]
        if container.source is not None:
            script = pod.folder / "script"
            # Argo hands a template to its pod in an environment variable, where Kubernetes turns `$$` into `$`
            # (workflow/controller/workflowpod.go: EnvVarTemplate).
            script.write_text(paths.rewrite(_expanded(container.source, {})))
            script.chmod(0o755)
            argv.append(str(script))
        return argv

    def _environment(self, pod: Pod, container: Container, paths: PathMap) -> dict[str, str]:
        argo = {
            "ARGO_CONTAINER_NAME": container.name or "main",
            orphans.NODE_MARK: pod.node_id,
            "ARGO_PROGRESS_FILE": str(pod.folder / "progress"),
        }
        declared = {name: paths.rewrite(value) for name, value in _declared(container).items()}
        return {**self._machine.environment, **argo, **declared}

    def _paths(self, pod: Pod, container: Container) -> PathMap:
        root = pod.folder / "root"
        private = ["/tmp", *map(_private, pod.private_paths)]  # noqa: S108 - the pod's own
        folders = {path: within(root, path) for path in private}
        if container.working_dir:
            here = Path(container.working_dir)
            folders[container.working_dir] = here if here.is_dir() else within(root, container.working_dir)
        for folder in folders.values():
            folder.parent.mkdir(parents=True, exist_ok=True)
        folders["/dev/termination-log"] = pod.folder / "termination-log"
        folders |= self._machine.mounts
        for mount in _mounts(pod, container):
            folders[mount.mount_path] = within(pod.volumes[mount.name], mount.sub_path)
        return PathMap(folders)

    def _message(self, pod: Pod, container: Container, code: int) -> str:
        """What Argo makes of a container that failed (workflow/controller/operator.go: inferFailedReason)."""
        name = container.name or "main"
        said = _last_word(pod, container)
        return f"{name}: Error (exit code {code})" + (f": {said}" if said else "")


def _private(path: str) -> str:
    """What of a declared path belongs to the pod: its topmost folder that this machine does not have, else itself."""
    missing = [parent for parent in Path(path).parents if not parent.exists()]
    return str(missing[-1]) if missing else path


def _mounts(pod: Pod, container: Container) -> list[VolumeMount]:
    mirrored = pod.main.volume_mounts if container.mirror_volume_mounts else []
    return [*mirrored, *container.volume_mounts]


def _declared(container: Container) -> dict[str, str]:
    """A container's own environment; a variable may name those before it."""
    declared: dict[str, str] = {}
    for variable in container.env:
        field = variable.pods_field
        declared[variable.name] = POD_FIELDS[field]() if field else _expanded(variable.value, declared)
    return declared


def _expanded(text: str, environment: Mapping[str, str]) -> str:
    """Kubernetes' `$(NAME)` and `$$` (third_party/forked/golang/expansion/expand.go); unknown names stay."""
    if "$" not in text:
        return text
    return _EXPANSION.sub(lambda m: environment.get(m[2], m[0]) if m[2] else "$", text)


async def _ended(process: "subprocess.Popen[bytes]") -> None:
    """Wait until the process has ended, and leave it to be reaped."""
    loop = asyncio.get_running_loop()
    if not hasattr(os, "pidfd_open"):  # macOS
        await loop.run_in_executor(None, os.waitid, os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        return
    readable = asyncio.Event()
    descriptor = os.pidfd_open(process.pid)
    loop.add_reader(descriptor, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


def _signal(process: "subprocess.Popen[bytes]", number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):  # macOS answers EPERM for a group of zombies
        os.killpg(process.pid, number)


@contextmanager
def _output(pod: Pod, log: IO[bytes], *, captures: bool) -> Iterator[IO[bytes]]:
    """Where standard output goes: into the log, or into a file of its own when it is the pod's result."""
    if not captures:
        yield log
        return
    with (pod.folder / "stdout").open("wb") as file:
        yield file


def _captured(pod: Pod) -> str:
    """The result: standard output without its final newline, the last 256 KiB of it."""
    with (pod.folder / "stdout").open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - RESULT_LIMIT))
        return file.read().decode(errors="replace").removesuffix("\n")


def _append_output(pod: Pod) -> None:
    with (pod.folder / LOG).open("ab") as log, (pod.folder / "stdout").open("rb") as output:
        shutil.copyfileobj(output, log)


def _termination_log(pod: Pod, container: Container) -> Path:
    inside = container.termination_message_path
    return pod.folder / ("termination-log" if inside == "/dev/termination-log" else f"root/{inside.lstrip('/')}")


def _last_word(pod: Pod, container: Container) -> str:
    """The termination message; where there is none and the policy says so, the log's end."""
    with suppress(FileNotFoundError):
        if said := _termination_log(pod, container).read_bytes()[:TERMINATION_LIMIT].decode(errors="replace"):
            return said
    if container.termination_message_policy != "FallbackToLogsOnError":
        return ""
    with (pod.folder / LOG).open("rb") as log:
        log.seek(max(0, log.seek(0, os.SEEK_END) - LOG_TAIL_BYTES))
        return "".join(log.read().decode(errors="replace").splitlines(keepends=True)[-LOG_TAIL_LINES:])
