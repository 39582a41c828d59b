"""MLflow's runs: the one in which a training's metrics, and then its recipe, are kept. All may be done again."""

from typing import TYPE_CHECKING

from argosy.steps.publish.recipe import Entries
from argosy.steps.publish.tags import RUN, RUN_UID

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

PARAMETERS_AT_ONCE = 100  # mlflow/utils/validation.py, MAX_PARAMS_TAGS_PER_BATCH


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


def made(client: "MlflowClient", experiment: str, name: str, tags: dict[str, str]) -> "Run":
    """The run with this uid: if need be, the one that its training's metrics are in, else a new one."""
    found = _with_uid(client, experiment, tags[RUN_UID])
    return found[0] if found else _trained(client, experiment, name, tags)


def log(client: "MlflowClient", run: "Run", entries: Entries) -> None:
    """Parameters and metrics. The same again changes nothing: a metric bears the time of its run's start."""
    from mlflow.entities import Metric, Param

    parameters = [Param(name, value) for name, value in entries.parameters.items()]
    for start in range(0, len(parameters), PARAMETERS_AT_ONCE):
        client.log_batch(run.info.run_id, params=parameters[start : start + PARAMETERS_AT_ONCE])
    metrics = [Metric(name, value, run.info.start_time, 0) for name, value in entries.metrics.items()]
    client.log_batch(run.info.run_id, metrics=metrics)
    for file, text in entries.texts.items():
        client.log_text(run.info.run_id, text, file)


def end_others(client: "MlflowClient", experiment: str, run_uid: str, run_id: str) -> None:
    """Ends what a publisher that raced with this one, or a request that was answered twice, has begun."""
    for run in _with_uid(client, experiment, run_uid):
        if run.info.run_id != run_id and run.info.status == "RUNNING":
            client.set_terminated(run.info.run_id, "KILLED")


def _with_uid(client: "MlflowClient", experiment: str, run_uid: str) -> "list[Run]":
    return list(client.search_runs([experiment], f"tags.`{RUN_UID}` = '{run_uid}'", order_by=["start_time", "run_id"]))


def _trained(client: "MlflowClient", experiment: str, name: str, tags: dict[str, str]) -> "Run":
    from mlflow.entities import RunTag

    for run in client.search_runs([experiment], f"tags.`{RUN}` = '{name}'"):
        if RUN_UID not in run.data.tags:
            # Its uid comes last: killed before, the next attempt comes here again.
            last = [RunTag(key, tags[key]) for key in sorted(tags, key=RUN_UID.__eq__)]
            client.log_batch(run.info.run_id, tags=last)
            return run
    return client.create_run(experiment, tags=tags, run_name=name)
