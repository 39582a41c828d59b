"""Where MLflow is, and where it keeps files: what a step was told, else its environment, else its folder."""

import os
from pathlib import Path
from typing import Protocol

from argosy.steps.errors import configuration_error
from argosy.steps.publish.client import ADDRESS, is_server, without_credentials
from argosy.steps.publish.database import SQLITE

TRACKING_URI = "MLFLOW_TRACKING_URI"
"""MLflow's own environment variable (mlflow/environment_variables.py)."""
DATABASE = "mlflow.db"
ARTIFACTS = "artifacts"


class Registered(Protocol):
    """What names a registered model and its MLflow."""

    @property
    def registry(self) -> str: ...
    @property
    def tracking_uri(self) -> str: ...
    @property
    def folder(self) -> Path | None: ...


def tracking_uri(inputs: Registered) -> str:
    """Raises StepError (CONFIGURATION) when nothing says it, or what does is no address."""
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


def artifacts(inputs: Registered, tracking_uri: str) -> str | None:
    """Where a new experiment keeps its files, as a URI; None: where the server decides.

    Raises StepError (CONFIGURATION) when there is neither a server nor a folder.
    """
    if is_server(tracking_uri):
        return None
    if inputs.folder is None:
        shown = without_credentials(tracking_uri)
        raise configuration_error(f"{shown}: is no server, so --folder must say where files are kept")
    return (inputs.folder / ARTIFACTS).resolve().as_uri()
