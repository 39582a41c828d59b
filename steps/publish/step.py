"""The publish step: one version of the registered model for each run, then the alias."""

import time
from typing import TYPE_CHECKING

from argosy.steps import exported_model
from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.exported_model import ModelCard
from argosy.steps.publish import alias, logged, place, runs, turn
from argosy.steps.publish.client import connected, without_credentials
from argosy.steps.publish.recipe import entries, recipe
from argosy.steps.publish.tags import LEASE
from argosy.steps.publish.versions import Version, Versions
from argosy.steps.registry import PublishInput, PublishOutput

if TYPE_CHECKING:
    from mlflow import MlflowClient


def run(inputs: PublishInput) -> PublishOutput:
    """Killed at any instant and run again, it leaves one version, and the alias decided in the versions' order.

    A request that a server does long after its caller has gone may still make a second version: it never gets the
    alias, and the next publish to this registered model removes it.

    Raises StepError: USAGE for a verdict that lets nothing pass, DATA for a model that is missing or has changed,
    TEMPORARY when MLflow does not answer, CONFIGURATION when it refuses; and as comparing with the champion does.
    """
    started = time.monotonic()
    _check_verdicts(inputs)
    card = exported_model.verified(inputs.models / inputs.model, inputs.model_hash)
    tracking_uri = place.tracking_uri(inputs)
    with connected(tracking_uri) as client:
        versions = Versions(client, inputs.registry)
        experiment = runs.experiment_id(client, inputs.registry, place.artifacts(inputs, tracking_uri))
        found = versions.of(inputs.run_uid)
        version = found or _registered(client, experiment, versions, inputs, card)
        logged.remove_others(client, experiment, inputs.run_uid, version.location)
        runs.end_others(client, experiment, inputs.run_uid, version.run_id)
        alias.decide(inputs, versions, version)
        versions.remove_duplicates()  # that a request which was done twice, and late, has made
        holder = versions.holder(inputs.alias) or 0
    return PublishOutput(
        summary=_summary(inputs, version.number, holder),
        seconds=time.monotonic() - started,
        tracking_uri=without_credentials(tracking_uri),
        registered_model=inputs.registry,
        version=version.number,
        model_uri=f"models:/{inputs.registry}/{version.number}",
        created=found is None,
        champion=holder,
    )


def _registered(
    client: "MlflowClient", experiment: str, versions: Versions, inputs: PublishInput, card: ModelCard
) -> Version:
    """The run's version, a new one; or that of another publisher of the run, which was faster and has removed what this
    one was uploading.
    """
    from mlflow.exceptions import MlflowException

    made = recipe(inputs, card)
    noted = entries(made, inputs)
    try:
        run = runs.made(client, experiment, inputs.run, noted.tags)
        whole = logged.ready(client, experiment, inputs.run_uid)
        if whole is None or whole.source_run_id != run.info.run_id:
            runs.log(client, run, noted)
            whole = logged.upload(client, run, made, noted.tags, (inputs.models / inputs.model, card))
        client.set_terminated(run.info.run_id)
        return versions.register(whole, noted.tags | {LEASE: turn.sign()})
    except MlflowException as error:
        faster = versions.of(inputs.run_uid)
        if error.error_code != "RESOURCE_DOES_NOT_EXIST" or faster is None:
            raise
        return faster


def _check_verdicts(inputs: PublishInput) -> None:
    bad = [f"{gate}: {one.reason}" for gate, one in inputs.verdicts.items() if not one.lets_pass]
    if bad:
        raise StepError(ExitCode.USAGE, f"only a model that passed every gate is published; {'; '.join(bad)}")


def _summary(inputs: PublishInput, version: int, holder: int) -> str:
    where = {version: f"now {inputs.alias}", 0: f"while no version is {inputs.alias}"}
    at = where.get(holder, f"while {inputs.alias} stays at version {holder}")
    return f"{inputs.registry} version {version}, {at}"
