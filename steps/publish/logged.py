"""MLflow's logged models: a model's files, whole before they count.

Each attempt uploads to a logged model of its own, which is `PENDING` until every file has arrived and `READY` from then
on: what a killed attempt has left is never registered, and two attempts never write to one place.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.exported_model import ModelCard
from argosy.steps.publish import recipe
from argosy.steps.publish.package import package
from argosy.steps.publish.tags import RUN_UID
from argosy.steps.registry import Recipe

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import LoggedModel, Run

READY: Final = "READY"


def ready(client: "MlflowClient", experiment: str, run_uid: str) -> "LoggedModel | None":
    """The first whole one of this run."""
    whole = [one for one in _with_uid(client, experiment, run_uid) if one.status == READY]
    return min(whole, key=lambda one: (one.creation_timestamp, one.model_id), default=None)


def upload(
    client: "MlflowClient", run: "Run", made: Recipe, tags: dict[str, str], model: tuple[Path, ModelCard]
) -> "LoggedModel":
    """A new one with the model's and the recipe's files. Raises StepError (TEMPORARY) unless all have arrived whole.

    Large files go up in parts: to S3 boto3 does that by itself (s3_artifact_repo.py, upload_file), to a server MLflow
    does from 500 MB on, straight to the store, where the server offers it (mlflow_artifacts_repo.py,
    _is_multipart_upload_enabled; MLFLOW_ENABLE_PROXY_MULTIPART_UPLOAD=false where a pod cannot reach the store).
    """
    logged = client.create_logged_model(run.info.experiment_id, made.run, run.info.run_id, tags)
    with tempfile.TemporaryDirectory() as scratch:
        folder = package(*model, logged, Path(scratch))
        recipe.write(made, folder / recipe.FOLDER)
        client.log_model_artifacts(logged.model_id, str(folder))
        lost = sorted(_sizes(folder).items() - _arrived(client, logged.model_id))
    if lost:
        names = ", ".join(name for name, _ in lost)
        raise StepError(ExitCode.TEMPORARY, f"{logged.artifact_location}: did not take {names} whole")
    return client.finalize_logged_model(logged.model_id, READY)


def remove_others(client: "MlflowClient", experiment: str, run_uid: str, location: str) -> None:
    """Removes the run's logged models but the one whose files are there. `mlflow gc` frees what they hold."""
    from mlflow.exceptions import MlflowException

    for one in _with_uid(client, experiment, run_uid):
        if one.artifact_location != location:
            try:
                client.delete_logged_model(one.model_id)
            except MlflowException as error:
                if error.error_code != "RESOURCE_DOES_NOT_EXIST":
                    raise


def _with_uid(client: "MlflowClient", experiment: str, run_uid: str) -> "list[LoggedModel]":
    return list(client.search_logged_models([experiment], f"tags.`{RUN_UID}` = '{run_uid}'"))


def _sizes(folder: Path) -> dict[str, int]:
    return {path.relative_to(folder).as_posix(): path.stat().st_size for path in folder.rglob("*") if path.is_file()}


def _arrived(client: "MlflowClient", model_id: str) -> set[tuple[str, int | None]]:
    def files(folder: str | None) -> Iterator[tuple[str, int | None]]:
        for one in client.list_logged_model_artifacts(model_id, folder):
            if one.is_dir:
                yield from files(one.path)
            else:
                yield one.path, one.file_size

    return set(files(None))
