"""The recipe step: what a registered model's version is made of, read where MLflow can be reached."""

import tempfile
import time
from pathlib import Path

from argosy.steps.errors import data_error
from argosy.steps.publish import place, published, recipe
from argosy.steps.publish.client import connected
from argosy.steps.publish.versions import Version, Versions
from argosy.steps.registry import RecipeInput, RecipeOutput


def run(inputs: RecipeInput) -> RecipeOutput:
    """Raises StepError: DATA when there is no such version, or it has no recipe, TEMPORARY when MLflow does not answer,
    CONFIGURATION when it refuses.
    """
    started = time.monotonic()
    with connected(place.tracking_uri(inputs)) as client, tempfile.TemporaryDirectory() as scratch:
        versions = Versions(client, inputs.registry)
        version = _version(versions, inputs.version)
        if not published.has(versions, version, recipe.FOLDER):
            missing = (
                f"{inputs.registry} version {version.number}: has no {recipe.FOLDER}/{recipe.RECIPE} among its files"
            )
            raise data_error(f"{missing}; it was registered by hand, or by an argosy that kept none: publish it anew")
        made = recipe.read(published.files(versions, version, recipe.FOLDER, Path(scratch)), version.number)
    return RecipeOutput(
        summary=f"{inputs.registry} version {version.number}, made by {made.run}",
        seconds=time.monotonic() - started,
        recipe=made,
    )


def _version(versions: Versions, wanted: str) -> Version:
    if not wanted.startswith("@"):
        return published.numbered(versions, int(wanted))
    found = published.held(versions, wanted[1:])
    if found is None:
        raise published.lacking(versions, f"no version is {wanted}; name one by its number")
    return found
