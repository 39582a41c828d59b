"""A registered model, as a user names it: `models:/digits@champion`, `models:/digits/3`."""

import os
import re
from typing import TYPE_CHECKING

from argosy.pipelines.commands import place
from argosy.pipelines.commands.mistake import Mistake

if TYPE_CHECKING:
    from argosy.steps.registry import Recipe

SCHEME = "models:/"
NAME = re.compile(r"[^/:'\"]+")
"""Of a registered model (steps/registry.py)."""
_URI = re.compile(rf"models:/({NAME.pattern})(?:/(\d+)|(@[A-Za-z_][\w-]*))")
DATABASE = "mlflow.db"
"""Of a registry that lies in a folder (steps/publish/step.py)."""
TRACKING_URI = "MLFLOW_TRACKING_URI"


def recipe(uri: str, tracking_uri: str | None) -> "Recipe":
    """What the model is made of. Raises Mistake."""
    from argosy.pipelines.commands import stepping
    from argosy.steps.contracts import Step
    from argosy.steps.registry import Recipe

    name, version = _named(uri)
    fields = {**registry(name, tracking_uri), "version": version}
    try:
        found = stepping.outputs(Step.RECIPE, fields, f"asking MLflow for {uri}")
    except stepping.StepBrokenError as error:
        raise Mistake(f"{uri}: {error}") from None
    return Recipe.model_validate(found["recipe"])


def registry(name: str, tracking_uri: str | None) -> dict[str, object]:
    """Where the registered model's MLflow is, as steps take it: what is named, else the one of the runs here.

    Raises Mistake.
    """
    if tracking_uri:
        if "@" in tracking_uri and not tracking_uri.startswith("sqlite:"):
            what = "holds credentials, which any list of processes shows"
            raise Mistake(f"--tracking-uri: the address {what}; set {TRACKING_URI} instead")
        return {"registry": name, "tracking_uri": tracking_uri}
    if os.environ.get(TRACKING_URI, "").strip():
        return {"registry": name}  # the step reads it there
    found = sorted(database.parent for database in place.home().claims.glob(f"*/{DATABASE}"))
    if len(found) != 1:
        where = "lies in several folders" if found else "is nowhere"
        remedy = f"give --tracking-uri, or set {TRACKING_URI}"
        raise Mistake(f"the MLflow of the runs in {place.project()} {where}; {remedy}")
    return {"registry": name, "folder": str(found[0])}


def _named(uri: str) -> tuple[str, str]:
    if not (found := _URI.fullmatch(uri)):
        raise Mistake(f"{uri!r} names no model; write models:/NAME@ALIAS or models:/NAME/VERSION")
    return found[1], found[2] or found[3]
