"""The publish step: one version of the registered model for each run, then the alias."""

import os
import tempfile
import time
from pathlib import Path

from argosy.steps import exported_model
from argosy.steps.contracts import ExitCode, PublishInput, PublishOutput
from argosy.steps.errors import StepError, configuration_error
from argosy.steps.exported_model import ModelCard
from argosy.steps.gates import Answer
from argosy.steps.publish.client import ADDRESS, connected, is_server, without_credentials
from argosy.steps.publish.database import SQLITE
from argosy.steps.publish.package import package
from argosy.steps.publish.recipe import recipe
from argosy.steps.publish.registry import Registry

TRACKING_URI = "MLFLOW_TRACKING_URI"
"""MLflow's own environment variable (mlflow/environment_variables.py)."""
DATABASE = "mlflow.db"
ARTIFACTS = "artifacts"


def run(inputs: PublishInput) -> PublishOutput:
    """Killed at any instant and run again, it leaves one version, and the alias on it.

    Raises StepError: USAGE for a verdict that is no pass, DATA for a model that is missing or has changed, TEMPORARY
    when MLflow does not answer, CONFIGURATION when it refuses.
    """
    started = time.monotonic()
    _check_verdicts(inputs)
    card = exported_model.verified(inputs.models / inputs.model, inputs.model_hash)
    tracking_uri = _tracking_uri(inputs)
    with connected(tracking_uri) as client:
        registry = Registry(client, inputs.registry)
        found = registry.version_of(inputs.run_uid)
        version = _register(registry, inputs, card, tracking_uri) if found is None else found
        holder = registry.point(inputs.alias, version)
    return PublishOutput(
        summary=f"{inputs.registry} version {version}, "
        + (f"now {inputs.alias}" if holder == version else f"while {inputs.alias} stays at version {holder}"),
        seconds=time.monotonic() - started,
        tracking_uri=without_credentials(tracking_uri),
        registered_model=inputs.registry,
        version=version,
        model_uri=f"models:/{inputs.registry}/{version}",
        created=found is None,
        champion=holder,
    )


def _register(registry: Registry, inputs: PublishInput, card: ModelCard, tracking_uri: str) -> int:
    made = recipe(inputs, card)
    run = registry.run(inputs.run, made.tags, _artifacts(inputs, tracking_uri))
    registry.log(run, made)
    with tempfile.TemporaryDirectory() as scratch:
        registry.upload(run, package(inputs.models / inputs.model, card, Path(scratch)))
    return registry.register(run, made.tags)


def _check_verdicts(inputs: PublishInput) -> None:
    bad = [f"{gate}: {one.reason}" for gate, one in inputs.verdicts.items() if one.answer is not Answer.PASS]
    if bad:
        raise StepError(ExitCode.USAGE, f"only a model that passed every gate is published; {'; '.join(bad)}")


def _tracking_uri(inputs: PublishInput) -> str:
    """What was given, else what the environment names, else a database in the registry's folder."""
    if given := inputs.tracking_uri or os.environ.get(TRACKING_URI, "").strip():
        if not ADDRESS.fullmatch(given):
            raise configuration_error(
                f"{'--tracking-uri' if inputs.tracking_uri else TRACKING_URI}: is neither http(s)://HOST nor "
                f"{SQLITE}PATH; give such an address, in which a password's / and @ are written as %2F and %40"
            )
        return given
    if inputs.folder is None:
        raise configuration_error(f"{TRACKING_URI}: is not set, and neither --tracking-uri nor --folder is given")
    return f"{SQLITE}{inputs.folder.resolve() / DATABASE}"


def _artifacts(inputs: PublishInput, tracking_uri: str) -> str | None:
    """Where a new experiment keeps its files, as a URI."""
    if is_server(tracking_uri):
        return None
    if inputs.folder is None:
        shown = without_credentials(tracking_uri)
        raise configuration_error(f"{shown}: is no server, so --folder must say where files are kept")
    return (inputs.folder / ARTIFACTS).resolve().as_uri()
