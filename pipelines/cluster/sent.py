"""What Hera's service sends for argosy."""

from hera.workflows.models import WorkflowCreateRequest

from argosy.pipelines.manifest import Json


class ManifestRequest(WorkflowCreateRequest):
    """Creates the workflow of a manifest as it stands there: Hera's model of it drops what it does not know, such as
    a plugin's settings, and takes no number as a value.
    """

    workflow: Json | None = None  # type: ignore[assignment]
