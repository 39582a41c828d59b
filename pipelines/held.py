"""Which steps of a run wait for a person, and whether all of it does."""

from argosy.pipelines import status as s
from argosy.pipelines.identity import RunError
from argosy.pipelines.manifest import Json
from argosy.pipelines.names import suggestion
from argosy.pipelines.status import Node, Status

_MADE_OF_OTHERS = (s.DAG, s.STEPS, s.STEP_GROUP, s.TASK_GROUP, s.RETRY)


def waiting(workflow: Json, status: Status) -> list[Node]:
    """The nodes that a person must release: pauses that no duration ends."""
    spec = (workflow.get("status") or {}).get("storedWorkflowTemplateSpec") or workflow.get("spec") or {}
    pauses = {one.get("name"): one["suspend"] for one in spec.get("templates") or [] if one.get("suspend") is not None}
    return [
        node
        for node in status.nodes.values()
        if node.type == s.SUSPEND
        and not node.is_fulfilled
        and not (pauses.get(node.template_name) or {}).get("duration")
    ]


def is_held(workflow: Json, status: Status) -> bool:
    """Whether nothing goes on in a run that has not ended, until a person lets it."""
    held = {node.id for node in waiting(workflow, status)}
    others = (one for one in list(status.nodes.values()) if one.id not in held and one.type not in _MADE_OF_OTHERS)
    return status.phase == s.RUNNING and bool(held) and all(one.is_fulfilled for one in others)


def chosen(workflow: Json, status: Status, step: str | None) -> list[Node]:
    """The nodes that wait, of one step or all. Raises RunError where there is none."""
    name = workflow["metadata"]["name"]
    nodes = waiting(workflow, status)
    if not nodes or status.phase != s.RUNNING:
        raise RunError(f"run {name} waits for nobody: its phase is {status.phase}")
    wanted = [node for node in nodes if step is None or step in (node.display_name, node.name, node.id)]
    if not wanted:
        known = [node.display_name for node in nodes]
        remedy = suggestion(str(step), known, f"those that do are {', '.join(known)}")
        raise RunError(f"no step {step!r} of run {name} waits for a person; {remedy}")
    return wanted
