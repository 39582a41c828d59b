"""A connection to MLflow that is quiet, sends nothing home, and fails with one line for a person.

Importing mlflow takes more than a second: it happens here, when a connection is made.
"""

import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.publish import database
from argosy.steps.publish.database import SQLITE

if TYPE_CHECKING:
    from mlflow import MlflowClient

SETTINGS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",  # the workflow's own retry waits longer, and says so
    "GIT_PYTHON_REFRESH": "quiet",  # the pod may have no git
}
TEMPORARY = {"TEMPORARILY_UNAVAILABLE", "REQUEST_LIMIT_EXCEEDED", "DEADLINE_EXCEEDED", "ABORTED"}


def is_server(tracking_uri: str) -> bool:
    """Whether a server stands between us and the database: it then also decides where files are kept."""
    return tracking_uri.startswith(("http://", "https://"))


@contextmanager
def connected(tracking_uri: str) -> Iterator["MlflowClient"]:
    """MLflow's client, while its warnings and notices, but not its errors, are withheld.

    Raises StepError: TEMPORARY when the server does not answer, CONFIGURATION when it refuses.
    """
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    with warnings.catch_warnings(), _errors_in_one_line(tracking_uri):
        warnings.simplefilter("ignore")
        from mlflow import MlflowClient

        for logger in ("mlflow", "alembic"):
            logging.getLogger(logger).setLevel(logging.ERROR)
        if tracking_uri.startswith(SQLITE):
            database.ensure(Path(tracking_uri.removeprefix(SQLITE).partition("?")[0]))
        yield MlflowClient(tracking_uri, tracking_uri)


@contextmanager
def _errors_in_one_line(tracking_uri: str) -> Iterator[None]:
    from mlflow.exceptions import MlflowException
    from requests import RequestException

    try:
        yield
    except MlflowException as error:
        # Without a code of its own an error counts as INTERNAL_ERROR: with a server, that is one it did not explain.
        temporary = error.error_code in TEMPORARY or (is_server(tracking_uri) and error.error_code == "INTERNAL_ERROR")
        raise _said(tracking_uri, error.message, temporary=temporary) from error
    except RequestException as error:
        refused = error.response is not None and error.response.status_code < 500
        raise _said(tracking_uri, str(error), temporary=not refused) from error


def _said(tracking_uri: str, message: str, *, temporary: bool) -> StepError:
    line = " ".join(message.split())
    if temporary:
        return StepError(ExitCode.TEMPORARY, f"{tracking_uri}: MLflow does not answer as it should: {line}")
    return StepError(ExitCode.CONFIGURATION, f"{tracking_uri}: MLflow refuses: {line}")
