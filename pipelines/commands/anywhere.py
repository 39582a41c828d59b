"""A run, on this machine or on a cluster: what commands ask of either."""

from typing import TYPE_CHECKING, Protocol

from argosy.pipelines.commands import place
from argosy.pipelines.commands.logfiles import LogFiles
from argosy.pipelines.commands.mistake import Mistake
from argosy.pipelines.manifest import Json
from argosy.pipelines.runs import Logs, Run, view
from argosy.pipelines.status import HELD, INTERRUPTED, SUCCEEDED, SUSPEND

if TYPE_CHECKING:
    from argosy.pipelines.cluster.server import ArgoServer
    from argosy.pipelines.local.store import RunFolder

LOST = "connection lost, trying again"


class OneRun(Protocol):
    """Where a run lives, and how it is looked at there."""

    @property
    def logs(self) -> Logs: ...

    @property
    def newest_lines(self) -> Logs:
        """What its pods print just now, as far as that costs nothing."""

    @property
    def where(self) -> dict[str, str]:
        """What an explanation tells of its place."""

    @property
    def address(self) -> dict[str, str]:
        """What a script is told of its place."""

    def workflow(self) -> Json:
        """The run as an Argo Workflow object, as it is now."""

    def view(self) -> Run: ...

    def commands(self, run: Run) -> list[str]:
        """What the user may want to type next."""


def find(cluster: str | None, name: str | None) -> OneRun:
    """The run of this name; without one the newest. Raises Mistake, ClusterError, DamagedError."""
    return LocalRun(place.chosen(name)) if cluster is None else ClusterRun.find(server(cluster), name)


def server(cluster: str | None) -> "ArgoServer":
    """The Argo server of the cluster that the option names, or of the only one. Raises ClusterError."""
    from argosy.pipelines.cluster.connection import connection
    from argosy.pipelines.cluster.server import ArgoServer

    return ArgoServer(connection(cluster or None, place.project()))


class LocalRun:
    """A run on this machine."""

    def __init__(self, folder: "RunFolder") -> None:
        self.folder = folder
        self.logs = self.newest_lines = LogFiles(folder)

    @property
    def where(self) -> dict[str, str]:
        return {"folder": place.shown(self.folder.path)}

    @property
    def address(self) -> dict[str, str]:
        return {"folder": str(self.folder.path)}

    def workflow(self) -> Json:
        return self.folder.workflow()

    def view(self) -> Run:
        return place.opened(self.folder)

    def commands(self, run: Run) -> list[str]:
        from argosy.pipelines.commands.registry import browse

        argosy = place.program("argosy")
        if run.phase == HELD:
            return _decisions(run, argosy, "")
        if run.is_active:
            return [f"{argosy} logs {run.name} --follow", f"{argosy} stop {run.name}"]
        return _afterwards(run, argosy, "", browse(run))


class ClusterRun:
    """A run on a cluster, as it was when it was looked at last."""

    def __init__(self, server: "ArgoServer", workflow: Json) -> None:
        from argosy.pipelines.cluster.logs import PodLogs

        self.server = server
        self.name: str = workflow["metadata"]["name"]
        self._workflow = workflow
        self.logs = PodLogs(server, workflow)
        self.newest_lines = _NoLines()

    @classmethod
    def find(cls, server: "ArgoServer", name: str | None) -> "ClusterRun":
        """The run of this name; without one the newest of argosy's. Raises Mistake, ClusterError."""
        from argosy.pipelines.cluster.errors import MissingError
        from argosy.pipelines.commands.mistake import unknown

        names = server.names() if name is None else []
        if name is None and not names:
            raise Mistake(f"there is no run of argosy's at {server.connection}; `argosy submit PIPELINE` makes one")
        wanted = names[0] if name is None else name
        try:
            return cls(server, server.workflow(wanted))
        except MissingError as error:
            known = server.names(everyones=True)
            otherwise = f"`{place.program('argosy')} runs -c` lists those at {server.connection}"
            raise unknown("run", wanted, known, otherwise) from error

    @classmethod
    def named(cls, server: "ArgoServer", name: str | None) -> "ClusterRun":
        """The run of this name, which must be given: the newest may be another person's. Raises Mistake."""
        if name is None:
            raise Mistake(
                f"name the run: the newest may be another person's; `{place.program('argosy')} runs -c` lists them"
            )
        return cls.find(server, name)

    @property
    def where(self) -> dict[str, str]:
        return {"page": self.server.page(self.name)}

    @property
    def address(self) -> dict[str, str]:
        connection = self.server.connection
        return {"server": connection.url, "namespace": connection.namespace, "page": self.server.page(self.name)}

    def workflow(self) -> Json:
        return self._workflow

    def view(self) -> Run:
        return view(self._workflow)

    def refresh(self) -> None:
        """Look at it again. Raises ClusterError."""
        self._workflow = self.server.workflow(self.name)

    def commands(self, run: Run) -> list[str]:
        argosy, cluster = place.program("argosy"), self.option
        if run.phase == HELD:
            return _decisions(run, argosy, cluster)
        if run.is_active:
            watch = f"{argosy} watch {run.name}" + (cluster if self.server.connection.profile else "")
            return [watch, f"{argosy} logs {run.name} --follow{cluster}", f"{argosy} stop {run.name}{cluster}"]
        return _afterwards(run, argosy, cluster, [self.server.page(self.name)])

    @property
    def option(self) -> str:
        """How a command is told the cluster, with a space before it."""
        return f" -c {self.server.connection.profile or ''}".rstrip()


class _NoLines:
    """Asking a server for each pod's last line at every drawing would cost it more than the run itself."""

    def tail(self, _node: object, _lines: int) -> list[str]:
        return []

    def place(self, _node: object) -> str:
        return ""


def _decisions(run: Run, argosy: str, cluster: str) -> list[str]:
    """What a person can say to a run that waits for it: yes or no; no first where a step has failed already."""
    answers = [f"{argosy} resume {run.name}{cluster}", f"{argosy} stop {run.name}{cluster}"]
    return answers[::-1] if run.failures() else answers


def _afterwards(run: Run, argosy: str, cluster: str, results: list[str]) -> list[str]:
    """What to do with a run that is over; `cluster` ends each command, `results` show what came out."""
    show = f"{argosy} show {run.name}{cluster}"
    failed = [step for step in run.failures() if step.pod.type != SUSPEND]
    if run.phase == SUCCEEDED:
        return [show, *results]
    logs = [f"{argosy} logs {run.name} {failed[0].name}{cluster}"] if failed and run.phase != INTERRUPTED else []
    retry = [] if run.is_verdict else [f"{argosy} retry {run.name}{cluster}"]
    return [*retry, show] if run.phase == INTERRUPTED else [*logs, *retry, show]
