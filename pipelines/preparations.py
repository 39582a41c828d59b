"""What a pod does before its step, in init containers: the project's code at the run's revision, and its dataset."""

from collections.abc import Sequence
from dataclasses import dataclass

from hera.workflows import UserContainer, models

from argosy.pipelines import folders, pods, quantities
from argosy.pipelines.calls import Call
from argosy.pipelines.code import Git
from argosy.pipelines.placement import Claim, NodeFolder, Resources, Scratch, Storage
from argosy.pipelines.pods import Mount
from argosy.pipelines.started import COMMAND
from argosy.steps.contracts import TERMINATION_LOG, Step


@dataclass(frozen=True)
class Preparation:
    """An init container that runs one of argosy's steps."""

    name: str
    call: Call
    mounts: Sequence[Mount]
    """What it sees beside the pod's own scratch folders."""
    environment: str | None = None
    """Name of the ConfigMap and Secret whose entries it gets."""
    variables: Sequence[models.EnvVar] = ()

    def container(self, image: str, resources: Resources, scratch: Sequence[Mount]) -> UserContainer:
        return UserContainer(
            name=self.name,
            image=image,
            command=list(COMMAND),
            args=self.call.arguments(),
            env=[models.EnvVar(name=TERMINATION_LOG, value=folders.TERMINATION), *self.variables],
            env_from=[*pods.environment(self.environment)] if self.environment else None,
            resources=pods.requirements(resources.model_copy(update={"gpus": 0})),
            volume_mounts=[mount.model() for mount in (*self.mounts, *scratch)],
            security_context=pods.container_rights(),
            termination_message_policy="FallbackToLogsOnError",
        )


def code_fetched(code: Git) -> Preparation:
    """The project's files at the run's revision, in place of the image's."""
    name = "fetch-code"
    fixed = {
        "output": _output(name),
        "repository": code.repository,
        "project": folders.PROJECT,
        "lock": folders.LOCK,
        "credentials": folders.GIT,
    }
    return Preparation(
        name, Call(Step.CODE, fixed), [*project(code), pods.secret("git", folders.GIT, code.credentials)]
    )


def data_ensured(storage: Storage, code: Git | None) -> Preparation:
    """Stages what was staged, on whichever node the pod came to: at once when the data is there."""
    name = "ensure-data"
    fixed = staging(storage) | {"output": _output(name), "part": ""}
    mounts = [cache(storage), *(mount.as_read_only() for mount in project(code))]
    return Preparation(name, Call(Step.ENSURE, fixed), mounts, storage.data_environment, [pods.NODE_NAME])


def staging(storage: Storage) -> dict[str, object]:
    """What every staging is told, whichever data it is."""
    cache, pace = storage.cache, storage.at_most_mb_per_second
    space, files = (None, None) if isinstance(cache, Scratch) else (cache.at_most, cache.at_most_files)
    return {
        "project": folders.PROJECT,
        "cache": folders.CACHE,
        "node_folder": cache.path if isinstance(cache, NodeFolder) else "",
        "cache_bytes": quantities.byte_count(space) if space else 0,
        "cache_files": files or 0,
        "connections": storage.connections,
        "bytes_per_second": round(pace * 1e6) if pace else 0,
    }


def project(code: Git | None) -> list[Mount]:
    """The folder of fetched code; nothing where the image holds the code."""
    return [pods.scratch("project", folders.PROJECT)] if code else []


def cache(storage: Storage) -> Mount:
    match storage.cache:
        case NodeFolder(path=path):
            return pods.node_folder("cache", folders.CACHE, path)
        case Claim(name=name):
            return pods.claim("cache", folders.CACHE, name)
        case _:
            return pods.scratch("cache", folders.CACHE)


def _output(name: str) -> str:
    # A folder of its own, or main would find a record before it had done anything.
    return f"{folders.OUTPUT}/{name}"
