"""What the templates of all steps have in common: from a step's call to its pod."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hera.workflows import Container, Suspend, models

from argosy.pipelines import executor, folders, pods, preparations
from argosy.pipelines.calls import Call
from argosy.pipelines.code import Git
from argosy.pipelines.folders import MODELS, OUTPUT
from argosy.pipelines.placement import NodeFolder, Resources, Storage
from argosy.pipelines.pods import Mount
from argosy.pipelines.preparations import Preparation
from argosy.pipelines.started import COMMAND
from argosy.steps.contracts import TERMINATION_LOG

DEFAULT_STORAGE = Storage()


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What a step finds in its pod, beside its image and its resources."""

    mounts: Sequence[Mount] = ()
    environments: Sequence[str] = ()
    """Names of ConfigMaps and Secrets; a later one counts where two have an entry."""
    variables: Mapping[str, str] = field(default_factory=dict)
    knows_its_node: bool = False


def pod(
    call: Call,
    name: str,
    image: str,
    resources: Resources,
    surroundings: Surroundings,
    *,
    before: Sequence[Preparation] = (),
    artifacts: Sequence[models.Artifact] = (),
    retries: int = pods.FEW,
) -> Container:
    """A template of one step, after its preparations."""
    scratch = [pods.scratch("output", OUTPUT), pods.scratch("tmp", "/tmp")]  # noqa: S108 - a mount point
    mounts = surroundings.mounts
    needed = [*mounts, *(mount for one in before for mount in one.mounts), *scratch]
    volumes = {mount.volume.name: mount.volume for mount in needed}
    inputs = {one.name: one for source in (call, *(one.call for one in before)) for one in source.inputs()}
    variables = [models.EnvVar(name=name, value=value) for name, value in surroundings.variables.items()]
    node = [pods.NODE_NAME] if surroundings.knows_its_node else []
    return Container(
        name=name,
        image=image,
        command=list(COMMAND),
        args=call.arguments(),
        env=[models.EnvVar(name=TERMINATION_LOG, value=folders.TERMINATION), *node, *variables],
        env_from=[source for name in surroundings.environments for source in pods.environment(name)] or None,
        inputs=models.Inputs(parameters=list(inputs.values())),
        outputs=models.Outputs(parameters=call.outputs(), artifacts=list(artifacts) or None),
        resources=pods.requirements(resources),
        volumes=list(volumes.values()),
        volume_mounts=[mount.model() for mount in (*mounts, *scratch)],
        init_containers=[one.container(image, resources, scratch) for one in before] or None,
        retry_strategy=pods.retries([one.name for one in before], retries),
        security_context=pods.container_rights(),
        pod_security_context=pods.pod_rights(),
        pod_spec_patch=executor.patch(),
        termination_message_policy="FallbackToLogsOnError",
    )


def pod_with_data(
    call: Call,
    name: str,
    image: str,
    resources: Resources,
    surroundings: Surroundings,
    *,
    storage: Storage,
    code: Git | None,
    artifacts: Sequence[models.Artifact] = (),
    retries: int = pods.FEW,
) -> Container:
    """A template of a step that runs the user's code on staged data, rather on the node that has it than on another."""
    before = prepared(storage, code)
    seen = Surroundings(
        mounts=[*read(storage, code), *surroundings.mounts],
        environments=surroundings.environments,
        variables=surroundings.variables,
    )
    template = pod(call, name, image, resources, seen, before=before, artifacts=artifacts, retries=retries)
    template.working_dir = folders.PROJECT
    node = None
    if isinstance(storage.cache, NodeFolder):
        inputs_of(template).append(models.Parameter(name="node"))
        node = "{{inputs.parameters.node}}"
    template.affinity = pods.affinity(resources.accelerator.needs, node)
    return template


def read(storage: Storage, code: Git | None) -> list[Mount]:
    """The data and the project's code."""
    return [mount.as_read_only() for mount in (preparations.cache(storage), *preparations.project(code))]


def model_store(storage: Storage) -> Mount:
    return pods.claim("models", MODELS, storage.models_claim)


def registry_volume(storage: Storage) -> Mount:
    return pods.claim("registry", folders.REGISTRY, storage.registry_claim)


def fetched(code: Git | None) -> list[Preparation]:
    return [preparations.code_fetched(code)] if code else []


def prepared(storage: Storage, code: Git | None) -> list[Preparation]:
    """What goes before a step that reads data."""
    return [*fetched(code), preparations.data_ensured(storage, code)]


def inputs_of(template: Container | Suspend) -> list[models.Parameter]:
    """A template's input parameters, to be read and added to."""
    assert isinstance(template.inputs, models.Inputs)
    assert template.inputs.parameters is not None
    return template.inputs.parameters
