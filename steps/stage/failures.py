"""What it means that a DVC remote cannot be read: the errors of file systems, and those of S3's client libraries.

s3fs turns what the server answers into Python's own errors (s3fs/errors.py), and lets through what its clients say
before there is an answer.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

from dvc.fs import AuthError

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError, configuration_error, data_error

CREDENTIALS = (
    "give the pod AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY of an account that may read it, or see its configuration"
)
PASSING = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_MANY_REQUESTS)
"""Answers below 500 that another time may be other ones."""


@contextmanager
def told(remote: str) -> Iterator[None]:
    """Raises StepError in place of any error that reading the remote of this name gives: CONFIGURATION where it
    refuses, DATA where something is not there, TEMPORARY where it does not answer.
    """
    where = f"DVC remote {remote}"
    try:
        yield
    except (PermissionError, AuthError) as error:
        raise configuration_error(f"{where}: may not be read: {_line(error)}; {CREDENTIALS}") from None
    except FileNotFoundError as error:
        raise data_error(f"{where}: an object has just vanished: {_line(error)}") from None
    except OSError as error:
        if _is_refusal(error):
            raise configuration_error(f"{where}: refuses: {_line(error)}; {CREDENTIALS}") from None
        raise StepError(ExitCode.TEMPORARY, f"{where}: cannot be read: {_line(error)}") from error
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("botocore", "aiobotocore", "aiohttp"):
            raise
        raise _of_client(where, error) from error


def _is_refusal(error: OSError) -> bool:
    """Whether an S3 server has found the request itself wrong; s3fs keeps its answer as the cause."""
    answer = getattr(error.__cause__, "response", {})
    status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR and status not in PASSING


def _of_client(where: str, error: Exception) -> StepError:
    """What S3's client libraries say, which are there when one of them has raised something."""
    from aiohttp import ClientError
    from botocore import exceptions as boto  # type: ignore[import-untyped] # botocore has no types

    if isinstance(error, (boto.NoCredentialsError, boto.PartialCredentialsError, boto.CredentialRetrievalError)):
        return configuration_error(f"{where}: {_line(error)}; {CREDENTIALS}")
    unanswered = (boto.HTTPClientError, boto.ConnectionError, ClientError)
    if isinstance(error, unanswered) and not isinstance(error, boto.SSLError):
        return StepError(ExitCode.TEMPORARY, f"{where}: does not answer: {_line(error)}")
    return configuration_error(f"{where}: cannot be used: {_line(error)}; see its configuration and AWS_* variables")


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
