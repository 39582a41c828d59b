"""A pipeline's WorkflowEventBinding: Argo's server submits its WorkflowTemplate for a push."""

from collections.abc import Mapping

from hera.workflows import models

from argosy.pipelines import names
from argosy.pipelines.cluster.submission import BRANCH, COMMIT, SUBMITTED_BY, TITLE
from argosy.pipelines.errors import Problem, SpecError
from argosy.pipelines.graph import DESCRIPTION
from argosy.pipelines.manifest import Json
from argosy.pipelines.push import OnPush
from argosy.pipelines.trigger import push_event

NAME_LIMIT = names.NAME_LIMIT - 1 - push_event.NAME_DIGITS
"""Characters in the name of a template whose runs are named by a commit."""

MESSAGE = "argosy/message"
"""Annotation: first line of the commit's message. Labels take no free text."""


def binding(template: Json, on_push: OnPush) -> Json:
    """The binding that submits a template at the pushed commit. Raises SpecError."""
    metadata = template["metadata"]
    name, labels = metadata["name"], metadata.get("labels", {})
    if len(name) > NAME_LIMIT:
        remedy = f"leave {NAME_LIMIT} at most, since the run of a push adds a commit to it"
        raise SpecError([Problem("Pipeline.name", f"{name!r} has {len(name)} characters", remedy)])
    title = metadata.get("annotations", {}).get(TITLE, name)
    made = models.WorkflowEventBinding(
        api_version="argoproj.io/v1alpha1",
        kind="WorkflowEventBinding",
        metadata=models.ObjectMeta(name=name, labels=labels),
        spec=models.WorkflowEventBindingSpec(
            event=models.Event(selector=push_event.selector(on_push)), submit=_submission(name, title, labels)
        ),
    )
    document: Json = made.model_dump(exclude_none=True, by_alias=True)
    return document


def _submission(template: str, title: str, labels: Mapping[str, str]) -> models.Submit:
    """What is submitted. Each text in it is an expression."""
    revision = models.Parameter(name="revision", value_from=models.ValueFrom(event=push_event.REVISION))
    annotations = {
        TITLE: push_event.title(title),
        DESCRIPTION: push_event.DESCRIPTION,
        COMMIT: push_event.REVISION,
        BRANCH: push_event.clipped(push_event.BRANCH),
        SUBMITTED_BY: push_event.clipped(push_event.AUTHOR),
        MESSAGE: push_event.clipped(push_event.MESSAGE),
    }
    return models.Submit(
        workflow_template_ref=models.WorkflowTemplateRef(name=template),
        arguments=models.Arguments(parameters=[revision]),
        metadata=models.ObjectMeta(
            name=push_event.run_name(template),
            labels={key: push_event.text(value) for key, value in labels.items()},
            annotations=annotations,
        ),
    )
