"""The calls to MLflow that publish a model, each of which may be made again after a kill between any two of them.

A version appears in one call, with its tags: either it can be found by its run's uid, or it does not exist.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.publish.recipe import RUN, RUN_UID, Recipe

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

MODEL = "model"
"""Folder of the model among a run's artifacts."""
PARAMETERS_AT_ONCE = 100  # mlflow/utils/validation.py, MAX_PARAMS_TAGS_PER_BATCH


class Registry:
    """Versions of one registered model."""

    def __init__(self, client: "MlflowClient", name: str) -> None:
        self._client = client
        self._name = name

    def version_of(self, run_uid: str) -> int | None:
        """The version that this run has published, if it has."""
        found = self._client.search_model_versions(f"name = '{self._name}' and tags.`{RUN_UID}` = '{run_uid}'")
        return min((int(one.version) for one in found), default=None)

    def run(self, name: str, tags: dict[str, str], artifacts: str | None) -> "Run":
        """The run with this uid, in the experiment that has the registered model's name: if need be, the one that its
        training's metrics are in, else a new one.

        A new experiment keeps its files under `artifacts`; None leaves the place to the server.
        """
        experiment = experiment_id(self._client, self._name, artifacts)
        found = self._client.search_runs([experiment], f"tags.`{RUN_UID}` = '{tags[RUN_UID]}'", max_results=1)
        return found[0] if found else self._trained(experiment, name, tags)

    def _trained(self, experiment: str, name: str, tags: dict[str, str]) -> "Run":
        from mlflow.entities import RunTag

        for run in self._client.search_runs([experiment], f"tags.`{RUN}` = '{name}'"):
            if RUN_UID not in run.data.tags:
                # Its uid comes last: killed before, the next attempt comes here again.
                last = [RunTag(key, tags[key]) for key in sorted(tags, key=RUN_UID.__eq__)]
                self._client.log_batch(run.info.run_id, tags=last)
                return run
        return self._client.create_run(experiment, tags=tags, run_name=name)

    def log(self, run: "Run", recipe: Recipe) -> None:
        """Parameters and metrics. The same again changes nothing: a metric bears the time of its run's start."""
        from mlflow.entities import Metric, Param

        parameters = [Param(name, value) for name, value in recipe.parameters.items()]
        for start in range(0, len(parameters), PARAMETERS_AT_ONCE):
            self._client.log_batch(run.info.run_id, params=parameters[start : start + PARAMETERS_AT_ONCE])
        metrics = [Metric(name, value, run.info.start_time, 0) for name, value in recipe.metrics.items()]
        self._client.log_batch(run.info.run_id, metrics=metrics)
        for file, text in recipe.texts.items():
            self._client.log_text(run.info.run_id, text, file)

    def upload(self, run: "Run", package: Path) -> None:
        """The model's files. Raises StepError (TEMPORARY) unless all have arrived whole."""
        self._client.log_artifacts(run.info.run_id, str(package), MODEL)
        sent = {f"{MODEL}/{path.relative_to(package)}": path.stat().st_size for path in _files(package)}
        arrived = dict(self._arrived(run, MODEL))
        lost = sorted(name for name, size in sent.items() if arrived.get(name) != size)
        if lost:
            raise StepError(ExitCode.TEMPORARY, f"{run.info.artifact_uri}: did not take {', '.join(lost)} whole")

    def register(self, run: "Run", tags: dict[str, str]) -> int:
        """A new version of what was uploaded. Ends the run."""
        from mlflow.exceptions import MlflowException

        try:
            self._client.create_registered_model(self._name)
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise
        self._client.set_terminated(run.info.run_id)
        source = f"{run.info.artifact_uri}/{MODEL}"
        return int(self._client.create_model_version(self._name, source, run.info.run_id, tags=tags).version)

    def point(self, alias: str, version: int) -> int:
        """Moves the alias to this version, unless it has moved past it: a run that is tried again late stays behind.

        Returns the version that the alias is at.
        """
        current = self._client.get_registered_model(self._name).aliases.get(alias)
        if current is not None and int(current) >= version:
            return int(current)
        self._client.set_registered_model_alias(self._name, alias, str(version))
        return version

    def _arrived(self, run: "Run", folder: str) -> Iterator[tuple[str, int | None]]:
        for one in self._client.list_artifacts(run.info.run_id, folder):
            if one.is_dir:
                yield from self._arrived(run, one.path)
            else:
                yield one.path, one.file_size


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


def experiment_id(client: "MlflowClient", name: str, artifacts: str | None) -> str:
    """Of the experiment with this name; a new one, if need be, keeps its files under `artifacts`, or where the server
    decides.
    """
    from mlflow.exceptions import MlflowException

    found = client.get_experiment_by_name(name)
    if found is None:
        try:
            return str(client.create_experiment(name, artifact_location=artifacts))
        except MlflowException as error:
            found = client.get_experiment_by_name(name)
            if error.error_code != "RESOURCE_ALREADY_EXISTS" or found is None:
                raise
    return str(found.experiment_id)
