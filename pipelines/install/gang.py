"""The name service of a training on several nodes: each of its pods is found by a name of its own."""

from argosy.pipelines.install.objects import Object, made
from argosy.pipelines.install.settings import Installation
from argosy.pipelines.names import GANG, GANG_LABEL


def gang(settings: Installation) -> Object:
    return made(
        "The name below which the nodes of a training find each other, before they are ready too.",
        "v1",
        "Service",
        GANG,
        settings,
        spec={"clusterIP": "None", "publishNotReadyAddresses": True, "selector": {GANG_LABEL: "true"}},
    )
