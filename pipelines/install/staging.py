"""How many pods stage at a time: the limit of an Argo semaphore."""

from argosy.pipelines.install.objects import Object, config_map
from argosy.pipelines.install.settings import Installation
from argosy.pipelines.placement import STAGED_AT_A_TIME, Storage

STAGING: str = Storage.model_fields["staging"].default
"""The ConfigMap. Argo asks for it whenever a pod is to stage, so that a change counts at once, and without it ends the
node with `failed to initialize semaphore` (argo: workflow/controller/controller.go:414, workflow/sync/semaphore.go:43).
"""


def staging(settings: Installation) -> Object:
    reason = (
        "How many pods may stage data at a time. Each has 64 requests at the data's store, unless its pipeline says\n"
        "otherwise. A change counts from the next pod on; with 0, or without this object, nothing can be staged."
    )
    return config_map(reason, STAGING, {STAGED_AT_A_TIME: str(settings.staging_limit)}, settings)
