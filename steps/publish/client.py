"""A connection to MLflow that is quiet, sends nothing home, and fails with one line for a person.

Importing mlflow takes more than a second: it happens here, when a connection is made.
"""

import logging
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError, configuration_error
from argosy.steps.publish import database
from argosy.steps.publish.database import SQLITE

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from sqlalchemy.exc import DBAPIError

SETTINGS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",  # the workflow's own retry waits longer, and says so
    "GIT_PYTHON_REFRESH": "quiet",  # the pod may have no git
}
NO_RIGHTS_OR_SPACE = ("SQLITE_FULL", "SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")
"""How SQLite's names for these errors begin (sqlite.org/rescode.html)."""
_USER_INFO = re.compile(r"://[^/@\s]*@")
ADDRESS = re.compile(
    r"https?://([^\s/?#@]+@)?(\[[\da-fA-F:.]+\]|[^\s/?#@:\[\]]+)(:\d{1,5})?(/[^\s?#@]*)?|" + f"{SQLITE}.+"
)
"""A server or a database file; in any other address a password could stand where `without_credentials` overlooks it."""
TEMPORARY = {"TEMPORARILY_UNAVAILABLE", "REQUEST_LIMIT_EXCEEDED", "DEADLINE_EXCEEDED", "ABORTED"}
RACED = ("IntegrityError", "UniqueViolation")
"""What a database says to the later of two that write one new tag or alias at once: done again, it changes that one."""


def without_credentials(text: str) -> str:
    """A text whose addresses have no name and password: what may be shown of it."""
    return _USER_INFO.sub("://", text)


def is_server(tracking_uri: str) -> bool:
    """Whether a server stands between us and the database: it then also decides where files are kept."""
    return tracking_uri.startswith(("http://", "https://"))


@contextmanager
def connected(tracking_uri: str) -> Iterator["MlflowClient"]:
    """MLflow's client, while its warnings and notices, but not its errors, are withheld.

    Raises StepError: TEMPORARY when the server or database does not answer, CONFIGURATION when it refuses, or the
    database has no space.
    """
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    with warnings.catch_warnings(), _errors_in_one_line(tracking_uri):
        warnings.simplefilter("ignore")
        from mlflow import MlflowClient

        for logger in ("mlflow", "alembic"):
            logging.getLogger(logger).setLevel(logging.ERROR)
        # It prints a traceback of each database error that it raises; ours says the same in one line.
        logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)
        if tracking_uri.startswith(SQLITE):
            database.ensure(Path(tracking_uri.removeprefix(SQLITE).partition("?")[0]))
        yield MlflowClient(tracking_uri, tracking_uri)


@contextmanager
def _errors_in_one_line(tracking_uri: str) -> Iterator[None]:
    from mlflow.exceptions import MlflowException
    from requests import RequestException
    from sqlalchemy.exc import DBAPIError

    try:
        yield
    except DBAPIError as error:
        raise _database_said(tracking_uri, error) from error
    except MlflowException as error:
        if isinstance(error.__context__, DBAPIError):  # mlflow/store/db/utils.py, make_managed_session
            raise _database_said(tracking_uri, error.__context__) from error
        # Without a code of its own an error counts as INTERNAL_ERROR: with a server, that is one it did not explain.
        unexplained = is_server(tracking_uri) and error.error_code == "INTERNAL_ERROR"
        temporary = unexplained or error.error_code in TEMPORARY or any(word in error.message for word in RACED)
        raise _said(tracking_uri, error.message, temporary=temporary) from error
    except RequestException as error:
        refused = error.response is not None and error.response.status_code < 500
        raise _said(tracking_uri, str(error), temporary=not refused) from error


def _database_said(tracking_uri: str, error: "DBAPIError") -> StepError:
    """What the database itself said, without SQLAlchemy's page of SQL around it."""
    from sqlalchemy.exc import IntegrityError, OperationalError

    if getattr(error.orig, "sqlite_errorname", "").startswith(NO_RIGHTS_OR_SPACE):
        shown = without_credentials(f"{tracking_uri}: {error.orig}")
        return configuration_error(f"{shown}; make room, or give the right to write there")
    return _said(tracking_uri, str(error.orig), temporary=isinstance(error, OperationalError | IntegrityError))


def _said(tracking_uri: str, message: str, *, temporary: bool) -> StepError:
    line, where = without_credentials(" ".join(message.split())), without_credentials(tracking_uri)
    if temporary:
        return StepError(ExitCode.TEMPORARY, f"{where}: MLflow does not answer as it should: {line}")
    return StepError(ExitCode.CONFIGURATION, f"{where}: MLflow refuses: {line}")
