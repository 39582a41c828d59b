"""A version that has been published, and its files."""

from pathlib import Path
from typing import TYPE_CHECKING

from argosy.steps.errors import StepError, data_error
from argosy.steps.exported_model import PROGRAM, verified
from argosy.steps.publish.client import without_credentials
from argosy.steps.publish.tags import MODEL_HASH
from argosy.steps.publish.versions import Version, Versions

if TYPE_CHECKING:
    from mlflow.store.artifact.artifact_repo import ArtifactRepository

DATA = "data"
"""Folder of the exported model's, among a version's files (mlflow/pyfunc/__init__.py, save_model)."""


def lacking(versions: Versions, what: str) -> StepError:
    """What to raise where a version is not there: `what`, or that there is no such model at all."""
    if not versions.all():
        what = "the registry has no model of this name, or no version of it"
    return data_error(f"{versions.name}: {what}")


def held(versions: Versions, alias: str) -> Version | None:
    """The version that the alias is at."""
    holder = versions.holder(alias)
    return None if holder is None else numbered(versions, holder)


def numbered(versions: Versions, number: int) -> Version:
    """Raises StepError (DATA) when there is no such version."""
    found = versions.all()
    version = next((one for one in found if one.number == number), None)
    if version is None:
        there = ", ".join(str(one.number) for one in found)
        raise lacking(versions, f"there is no version {number}; it has {there}")
    return version


def has(versions: Versions, version: Version, folder: str) -> bool:
    """Whether there is such a folder among the version's files. Every kind of store lists a missing one as empty."""
    return bool(_repository(versions, version).list_artifacts(folder))


def files(versions: Versions, version: Version, folder: str, scratch: Path) -> Path:
    """A folder among the version's files, downloaded."""
    repository = _repository(versions, version)
    return Path(repository.download_artifacts(folder, str(scratch)))  # type: ignore[no-untyped-call]  # in MLflow


def model(versions: Versions, version: Version, scratch: Path) -> Path:
    """The folder of the version's exported model, downloaded, and whole.

    Raises StepError (DATA) when its files are gone, or are not those that were published.
    """
    name = f"{versions.name} version {version.number}"
    where = without_credentials(version.location)
    downloaded = files(versions, version, DATA, scratch) if has(versions, version, DATA) else scratch
    found = [path.parent for path in downloaded.rglob(PROGRAM)]
    if len(found) != 1 or MODEL_HASH not in version.tags:
        raise data_error(
            f"{name}: has no {DATA}/*/{PROGRAM} in {where}; its files are gone, or it was registered by hand"
        )
    try:
        verified(found[0], version.tags[MODEL_HASH])
    except StepError as error:
        raise data_error(f"{name}: {error.message.replace(str(downloaded), f'{where}/{DATA}')}") from None
    return found[0]


def _repository(versions: Versions, version: Version) -> "ArtifactRepository":
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    return get_artifact_repository(version.location, tracking_uri=versions.client.tracking_uri)
