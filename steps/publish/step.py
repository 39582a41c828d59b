"""The publish step: one version of the registered model for each run, then the alias."""

import tempfile
import time
from pathlib import Path

from argosy.steps import exported_model
from argosy.steps.contracts import Answer, ExitCode, PublishInput, PublishOutput
from argosy.steps.errors import StepError, configuration_error
from argosy.steps.exported_model import ModelCard
from argosy.steps.publish.client import connected, is_server
from argosy.steps.publish.package import package
from argosy.steps.publish.recipe import recipe
from argosy.steps.publish.registry import Registry


def run(inputs: PublishInput) -> PublishOutput:
    """Killed at any instant and run again, it leaves one version, and the alias on it.

    Raises StepError: USAGE for a verdict that is no pass, DATA for a model that is missing or has changed, TEMPORARY
    when MLflow does not answer, CONFIGURATION when it refuses.
    """
    started = time.monotonic()
    _check_verdicts(inputs)
    card = exported_model.verified(inputs.models / inputs.model, inputs.model_hash)
    with connected(inputs.tracking_uri) as client:
        registry = Registry(client, inputs.registry)
        found = registry.version_of(inputs.run_uid)
        version = _register(registry, inputs, card) if found is None else found
        registry.point(inputs.alias, version)
    return PublishOutput(
        seconds=time.monotonic() - started,
        registered_model=inputs.registry,
        version=version,
        model_uri=f"models:/{inputs.registry}/{version}",
        created=found is None,
    )


def _register(registry: Registry, inputs: PublishInput, card: ModelCard) -> int:
    made = recipe(inputs, card)
    run = registry.run(inputs.run, made.tags, _artifacts(inputs))
    registry.log(run, made)
    with tempfile.TemporaryDirectory() as scratch:
        registry.upload(run, package(inputs.models / inputs.model, card, Path(scratch)))
    return registry.register(run, made.tags)


def _check_verdicts(inputs: PublishInput) -> None:
    bad = [f"{gate}: {one.reason}" for gate, one in inputs.verdicts.items() if one.answer is not Answer.PASS]
    if bad:
        raise StepError(ExitCode.USAGE, f"only a model that passed every gate is published; {'; '.join(bad)}")


def _artifacts(inputs: PublishInput) -> str | None:
    """Where a new experiment keeps its files, as a URI."""
    if is_server(inputs.tracking_uri):
        return None
    if not inputs.artifacts:
        raise configuration_error(f"{inputs.tracking_uri}: is no server, so --artifacts must say where files are kept")
    return inputs.artifacts if "://" in inputs.artifacts else Path(inputs.artifacts).resolve().as_uri()
