"""All that a namespace needs, in the order in which it can be applied."""

from argosy.pipelines.install.accounts import accounts
from argosy.pipelines.install.claims import claims
from argosy.pipelines.install.gang import gang
from argosy.pipelines.install.namespace import namespace
from argosy.pipelines.install.network import policies
from argosy.pipelines.install.node_folder import node_folder
from argosy.pipelines.install.objects import Object
from argosy.pipelines.install.queue import local_queue
from argosy.pipelines.install.settings import Installation
from argosy.pipelines.install.staging import staging
from argosy.pipelines.install.stores import stores


def objects(settings: Installation) -> list[Object]:
    return [
        namespace(settings),
        *accounts(settings),
        *claims(settings),
        staging(settings),
        *stores(settings),
        gang(settings),
        *([local_queue(settings, settings.queue)] if settings.queue else []),
        *policies(settings),
        *([node_folder(settings)] if settings.image else []),
    ]
