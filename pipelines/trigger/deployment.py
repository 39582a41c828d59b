"""What a pipeline puts into a cluster: a WorkflowTemplate, and what submits it when code is pushed."""

from pathlib import Path

from hera.workflows import Workflow

from argosy.pipelines.checks.rules import check_built
from argosy.pipelines.compile import rendered
from argosy.pipelines.errors import CompileError, Problem, SpecError
from argosy.pipelines.graph import DESCRIPTION, TITLE
from argosy.pipelines.manifest import Json
from argosy.pipelines.spec import Pipeline
from argosy.pipelines.trigger.binding import binding


def deployment(workflow: Workflow, pipeline: Pipeline | None, project: Path) -> str:
    """The objects as YAML, the same bytes for the same definition; `pipeline` is what the workflow was made of.

    Raises CompileError with all that is wrong with the workflow, SpecError.
    """
    on_push = pipeline.on_push if pipeline else None
    if on_push and pipeline and pipeline.code is None:
        what = "the image holds the code of one commit, and each push has another"
        raise SpecError([Problem("Pipeline.on_push", what, "have pods fetch it: code=Git('https://...')")])
    document = workflow.to_dict()
    if document["kind"] == "CronWorkflow":
        remedy = "apply it as `hera generate yaml` prints it"
        raise CompileError([Problem("kind", "a CronWorkflow has its own template and trigger", remedy)])
    if problems := check_built(workflow, document, project):
        raise CompileError(problems)
    template = _template(document)
    bindings = [binding(template, on_push)] if on_push else []
    return "---\n".join(rendered(one) for one in (template, *bindings))


def _template(document: Json) -> Json:
    """A workflow as the template of its runs, which inherit what it is labelled and annotated with.

    Not title and description: those of a run say what started it, and the template's would replace them
    (argo: workflow/controller/operator.go:571).
    """
    metadata = {key: value for key, value in document["metadata"].items() if key != "generateName"}
    metadata.setdefault("name", document["metadata"].get("generateName", "").rstrip("-"))
    own = (TITLE, DESCRIPTION)
    annotations = {key: value for key, value in metadata.get("annotations", {}).items() if key not in own}
    inherited = {"labels": metadata.get("labels"), "annotations": annotations}
    spec = {"workflowMetadata": {key: value for key, value in inherited.items() if value}, **document["spec"]}
    return {**document, "kind": "WorkflowTemplate", "metadata": metadata, "spec": spec}
