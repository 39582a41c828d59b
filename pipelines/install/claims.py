"""Volume claims: what outlives a pod."""

from argosy.pipelines.install.objects import Object, made
from argosy.pipelines.install.settings import Installation
from argosy.pipelines.manifest import Json
from argosy.pipelines.placement import Storage

CACHE = "argosy-cache"


def claims(settings: Installation) -> list[Object]:
    names = Storage()
    registry = (
        "MLflow's database and files. A pipeline whose Registry names no tracking_uri mounts it, and would wait for\n"
        "it for ever, even where the environment names an MLflow server."
    )
    found = [
        _claim(names.models_claim, "Checkpoints and exported models.", settings.models_size, settings),
        _claim(names.registry_claim, registry, settings.registry_size, settings),
    ]
    if settings.cache == "claim":
        found.append(_claim(CACHE, "Datasets, for every pod that may mount it.", settings.cache_size, settings))
    return found


def _claim(name: str, reason: str, size: str, settings: Installation) -> Object:
    spec: Json = {"accessModes": [settings.access_mode], "resources": {"requests": {"storage": size}}}
    if settings.storage_class:
        spec["storageClassName"] = settings.storage_class
    return made(reason, "v1", "PersistentVolumeClaim", name, settings, spec=spec)
