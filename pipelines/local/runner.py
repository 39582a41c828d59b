"""Starts, resumes and stops runs on this machine. Its input is a manifest; it never imports a pipeline."""

import asyncio
import fcntl
import os
import signal
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from argosy.pipelines import held
from argosy.pipelines import manifest as m
from argosy.pipelines import status as s
from argosy.pipelines.identity import RunError, named, others, run_name, set_values
from argosy.pipelines.local import orphans, pause, resume
from argosy.pipelines.local.artifacts import Repository
from argosy.pipelines.local.engine import RETRY_DEADLINE, RUN_DEADLINE, Engine
from argosy.pipelines.local.podstep import Volumes
from argosy.pipelines.local.process import Machine, ProcessPods
from argosy.pipelines.local.store import Home, Journal, RunFolder
from argosy.pipelines.local.support import examine
from argosy.pipelines.local.tree import Tree
from argosy.pipelines.manifest import Json
from argosy.pipelines.status import INTERRUPTED, Node, Status

PROJECT = "/argosy/project"
"""Where images hold the project's code; on this machine that is the project itself."""

STOPPED = "Stopped with strategy 'Stop'"  # Argo's words for a run that a person stopped
PROGRESS_SECONDS = 1.0

Observer = Callable[[Status], None]
"""Told the run's status after every change."""


@dataclass(frozen=True)
class Submission:
    """A manifest that was given a name, values and an identity."""

    text: str
    document: Json
    left_out: tuple[str, ...]
    """Fields of the manifest that mean nothing on one machine."""

    @property
    def name(self) -> str:
        return str(self.document["metadata"]["name"])


class LocalRuns:
    """All runs of one project."""

    def __init__(self, project: Path, code: Path | None = None) -> None:
        """`code`: the project's files at another commit, which the runs use in place of its own."""
        self._code = code or project
        self.home = Home(project / ".argosy")

    def prepare(self, text: str, parameters: Mapping[str, str], *, again: bool = False) -> Submission:
        """Name a manifest's run and check that this machine can run it.

        The name is made from the manifest and its values: the same twice is one run, unless `again` asks for another.
        Raises RunError, ManifestError.
        """
        document = m.read(text)
        set_values(document, parameters)
        name = run_name(document)
        if again:
            name = next(candidate for candidate in others(name) if not self.home.run(candidate).exists)
        document = named(document, name)
        document["metadata"] |= {
            "namespace": document["metadata"].get("namespace") or "local",
            "uid": str(uuid.uuid4()),
            "creationTimestamp": s.now(),
        }
        findings = examine(m.view(document), document, self._machine("check"))
        if findings.refused:
            raise RunError("this manifest cannot be run on one machine:\n" + "\n".join(findings.refused))
        return Submission(text, document, findings.left_out)

    def start(self, submission: Submission, observer: Observer) -> Status:
        """Run a submission to its end. Raises RunError if its run exists."""
        folder = self.home.run(submission.name)
        try:
            folder.create(submission.text, submission.document)
        except FileExistsError as error:
            remedy = f"`argosy show {folder.name}` shows it, --again makes another"
            raise RunError(f"run {folder.name} exists; {remedy}") from error
        with _held(folder):
            return self._run(folder, submission.document, Status(), observer)

    def resume(self, folder: RunFolder, observer: Observer) -> Status:
        """Go on with a run that did not succeed; what succeeded is not run again. Raises RunError."""
        with _held(folder):
            document = folder.workflow()
            status = msgspec.convert(document.pop("status"), Status)
            if status.phase == s.SUCCEEDED:
                raise RunError(f"run {folder.name} has succeeded: there is nothing to retry")
            orphans.kill_run(document["metadata"]["uid"])
            resume.forget_unfinished(status, folder.name, {INTERRUPTED, STOPPED, RUN_DEADLINE, RETRY_DEADLINE})
            status.phase = s.PENDING
            folder.fold(document, status)
            return self._run(folder, document, status, observer)

    def release(self, folder: RunFolder, step: str | None, observer: Observer) -> Status:
        """Go on with a run that waits for a person, in the step of this name or in all that wait. Raises RunError."""
        with _held(folder):
            document = folder.workflow()
            status = msgspec.convert(document.pop("status"), Status)
            pause.release(held.chosen(document, status, step))
            folder.fold(document, status)
            return self._run(folder, document, status, observer)

    def stop(self, folder: RunFolder) -> Status:
        """Stop a run and wait until it has stopped; its exit handler runs. Raises RunError if it has ended already."""
        if runner := folder.runner():
            with suppress(ProcessLookupError):
                os.kill(runner, signal.SIGTERM)
            folder.wait()
        with _held(folder):
            document = folder.workflow()
            status = msgspec.convert(document.pop("status"), Status)
            if runner is None and held.is_held(document, status):
                return self._run(folder, document, status, lambda _: None, stopped=STOPPED)
            if runner is None and status.phase in (s.PENDING, s.RUNNING):
                orphans.kill_run(document["metadata"]["uid"])
                _close(status, STOPPED)
                folder.fold(document, status)
            elif runner is None:
                raise RunError(f"run {folder.name} has ended already; `argosy show {folder.name}` tells how")
            return status

    def _run(
        self, folder: RunFolder, document: Json, status: Status, observer: Observer, *, stopped: str = ""
    ) -> Status:
        """Run on from the status; `stopped` says why it only ends what is left, and runs the exit handler."""
        journal = _ObservedJournal(folder.journal(), status, observer)
        tree = Tree(folder.name, status, journal)
        workflow = m.view(document)
        engine = Engine(
            workflow,
            document,
            tree=tree,
            runner=ProcessPods(self._machine(document["metadata"]["uid"])),
            repository=Repository(folder.artifacts, folder.name),
            volumes=Volumes(self.home, folder, workflow.spec),
        )
        if stopped:
            engine.interrupt.set(stopped)
        try:
            final = asyncio.run(_supervise(engine, tree, folder))
        finally:
            journal.close()
        folder.fold(document, final)
        observer(final)
        return final

    def _machine(self, uid: str) -> Machine:
        return Machine.of(uid, {PROJECT: self._code})


class _ObservedJournal:
    """A journal that also tells an observer."""

    def __init__(self, journal: Journal, status: Status, observer: Observer) -> None:
        self._journal = journal
        self._status = status
        self._observer = observer
        self.close = journal.close

    def node(self, node: Node) -> None:
        self._journal.node(node)
        self._observer(self._status)

    def edge(self, parent: str, child: str) -> None:
        self._journal.edge(parent, child)

    def status(self, status: Status) -> None:
        self._journal.status(status)
        self._observer(status)


async def _supervise(engine: Engine, tree: Tree, folder: RunFolder) -> Status:
    """Run the engine until it ends or is told to.

    Ctrl-C, or the terminal's end, stops the pods; the second kills them. SIGTERM stops the pods and lets exit handlers
    run; the second stops those.
    """
    loop = asyncio.get_running_loop()
    running = asyncio.ensure_future(engine.run())

    def on_interrupt() -> None:
        if engine.interrupt.is_final:
            running.cancel()
        say("stopping; Ctrl-C again kills")
        engine.interrupt.set(INTERRUPTED, final=True)

    def on_stop() -> None:
        say("stopping")
        engine.interrupt.set(STOPPED, final=bool(engine.interrupt.message))

    def say(message: str) -> None:
        tree.status.message = message
        tree.save_status()

    for number in (signal.SIGINT, signal.SIGHUP):  # the terminal's Ctrl-C, and its end
        loop.add_signal_handler(number, on_interrupt)
    loop.add_signal_handler(signal.SIGTERM, on_stop)
    progress = asyncio.ensure_future(_follow_progress(tree, folder))
    try:
        return await running
    except asyncio.CancelledError:
        _close(tree.status, INTERRUPTED)
        return tree.status
    finally:
        progress.cancel()


async def _follow_progress(tree: Tree, folder: RunFolder) -> None:
    """Copy what running pods say of their progress into their nodes."""
    while True:
        await asyncio.sleep(PROGRESS_SECONDS)  # a file that any program may write cannot be waited for portably
        for node in list(tree.status.nodes.values()):
            if node.type != s.POD or node.phase != s.RUNNING:
                continue
            said = folder.progress(tree.pod_name(node.name, node.template_name))
            if said and said != node.progress:
                node.progress = said
                tree.save(node)


def _close(status: Status, message: str) -> None:
    """Give a run that nobody works on any more its end."""
    for node in status.nodes.values():
        if not node.is_fulfilled:
            node.phase, node.message, node.finished_at = s.FAILED, message, s.now()
    status.phase, status.message, status.finished_at = s.FAILED, message, s.now()


@contextmanager
def _held(folder: RunFolder) -> Iterator[None]:
    lock = folder.hold()
    if lock is None:
        raise RunError(
            f"run {folder.name} is running (process {folder.runner()}); `argosy stop {folder.name}` stops it"
        )
    with lock:
        yield
        fcntl.flock(lock, fcntl.LOCK_UN)
