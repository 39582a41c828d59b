"""What pods are told of the stores. Addresses stand here, credentials in Secrets of the same names."""

from urllib.parse import urlsplit

from argosy.pipelines.compile import rendered
from argosy.pipelines.install.objects import Object, config_map
from argosy.pipelines.install.settings import Installation
from argosy.pipelines.manifest import Json
from argosy.pipelines.placement import Storage

DATA, REGISTRY = Storage().data_environment, Storage().registry_environment
"""ConfigMap and Secret of the containers that fetch data, and of those that publish."""

ARTIFACTS = "artifact-repositories"
"""The ConfigMap in which Argo looks for a namespace's repository (argo: workflow/artifactrepositories)."""

KEY_ID, KEY = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"


def stores(settings: Installation) -> list[Object]:
    found = []
    if settings.s3_endpoint:
        data = {"AWS_ENDPOINT_URL": settings.s3_endpoint}
        found.append(config_map("Where datasets are fetched from.", DATA, data, settings))
    if settings.mlflow:
        registry = {"MLFLOW_TRACKING_URI": settings.mlflow}
        if settings.s3_endpoint:
            registry["MLFLOW_S3_ENDPOINT_URL"] = settings.s3_endpoint
        found.append(config_map("Where models are published.", REGISTRY, registry, settings))
    if settings.artifact_bucket:
        found.append(_artifacts(settings, settings.artifact_bucket))
    return found


def _artifacts(settings: Installation, bucket: str) -> Object:
    endpoint = urlsplit(settings.s3_endpoint or "https://s3.amazonaws.com")
    repository: Json = {
        "s3": {
            "bucket": bucket,
            "endpoint": endpoint.netloc,
            "insecure": endpoint.scheme == "http",
            "keyFormat": "{{workflow.namespace}}/{{workflow.name}}/{{pod.name}}",
            "accessKeySecret": {"name": DATA, "key": KEY_ID},
            "secretKeySecret": {"name": DATA, "key": KEY},
        }
    }
    return config_map(
        "Where steps leave the reports that the Argo UI shows.",
        ARTIFACTS,
        {"argosy": rendered(repository)},
        settings,
        {"workflows.argoproj.io/default-artifact-repository": "argosy"},
    )
