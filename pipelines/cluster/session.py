"""How an Argo server is spoken to: with a token, in time, and with every failure told in one line.

Hera's service and the streams share one session of requests. Its answers are judged as they come in, so whatever
passes is an answer of Argo's API.
"""

import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

import requests
import urllib3
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase
from urllib3.util.retry import Retry

from argosy.pipelines.cluster.connection import Connection
from argosy.pipelines.cluster.errors import ClusterError, ExistsError, LostError, MissingError

COME_AGAIN = (408, 429, 500, 502, 503, 504)
"""Statuses that say nothing about what was asked for; 500 is also Argo's for whatever Kubernetes could not do."""

BLOCK_BYTES = 1 << 16
"""Read at once of a stream. By itself requests reads 512 and puts the line together anew for each: five seconds for an
event of 2 MB.
"""

EVENT = b"data: "
"""How a line with an event begins (https://html.spec.whatwg.org/multipage/server-sent-events.html)."""


@dataclass(frozen=True)
class Patience:
    """How long is waited, in seconds, and how often a question that changes nothing is put again."""

    connect: float = 10
    answer: float = 60
    """Also between two signs of life of a stream: Argo's server sends one every 15 s (argoproj/pkg: forwarders.go)."""
    again: int = 3


PATIENT = Patience()
HASTY = Patience(connect=1, answer=2, again=0)
"""For a question that somebody waits for with a finger on the tab key."""


class _Transport(HTTPAdapter):
    """Waits so long and no longer."""

    def __init__(self, patience: Patience) -> None:
        self._timeout = (patience.connect, patience.answer)
        super().__init__(
            max_retries=Retry(
                total=patience.again,
                connect=min(1, patience.again),
                backoff_factor=0.3,
                status_forcelist=(502, 503, 504),
                allowed_methods=["GET"],  # what changes something is put again where its effect can be looked for
                raise_on_status=False,
                respect_retry_after_header=False,  # it may say an hour
            )
        )

    def send(self, request: requests.PreparedRequest, **settings: Any) -> requests.Response:  # type: ignore[override]  # noqa: ANN401 - as they are
        return super().send(request, **{**settings, "timeout": settings.get("timeout") or self._timeout})


class _Token(AuthBase):
    """As an authenticator and no plain header: where there is none, requests takes one from ~/.netrc."""

    def __init__(self, token: str) -> None:
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._token:
            request.headers["Authorization"] = self._token
        return request


def session(connection: Connection, patience: Patience) -> requests.Session:
    """A session whose every answer is one of Argo's API. Its requests raise ClusterError."""
    if connection.verify is False:
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)  # the user has asked for it
    made = requests.Session()
    made.auth = _Token(connection.token)
    for scheme in ("http://", "https://"):
        made.mount(scheme, _Transport(patience))

    def judge(response: requests.Response, **_: object) -> None:
        _judge(response, connection)

    made.hooks["response"] = [judge]
    return made


@contextmanager
def reaching(connection: Connection) -> Iterator[None]:
    """Failures on the way to the server, told. Raises LostError, ClusterError."""
    url = connection.url
    try:
        yield
    except ClusterError:
        raise
    except requests.exceptions.SSLError as error:
        raise ClusterError(f"{url}: {_distrust(error)}") from error
    except (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError) as error:
        remedy = f"is it running, and is this its address? {_address_of(connection)} names it"
        raise LostError(f"{url}: no answer ({_cause(error)}); {remedy}") from error
    except requests.RequestException as error:
        raise ClusterError(f"{url}: {_cause(error)}; is this Argo server's address?") from error
    except OSError as error:
        raise ClusterError(f"{url}: {error.strerror or error}; SSL_CERT_FILE or `ca` names the CA's file") from error
    except ValueError as error:  # JSON that Hera's models cannot read
        raise LostError(f"{url}: answers with something that is no workflow ({type(error).__name__})") from error


def _judge(response: requests.Response, connection: Connection) -> None:
    if response.is_redirect:  # to follow one would make a GET of what was to be changed
        leads_to = urlsplit(urljoin(response.url, response.headers["Location"]))
        what = f"leads elsewhere, to {leads_to.scheme}://{leads_to.hostname}"
        raise ClusterError(f"{connection.url}: {what}; {_address_of(connection)} must name Argo's server itself")
    if response.ok and response.headers.get("Content-Type", "").startswith("text/event-stream"):
        return
    answer = _json(response)
    if answer is None and response.status_code in COME_AGAIN:
        raise LostError(f"{connection.url}: answers {response.status_code} {response.reason}")
    if answer is None:
        what = f"answers {response.status_code} {response.reason} with something that is no JSON"
        remedy = f"is this Argo server's address? {_address_of(connection)} names it"
        raise ClusterError(f"{connection.url}: {what}; {remedy}")
    if not response.ok:
        error = answer["error"] if isinstance(answer.get("error"), dict) else answer
        raise refusal(response.status_code, str(error.get("message") or response.reason), connection)


def _json(response: requests.Response) -> dict[str, Any] | None:
    """The object that it holds; a stream that could not begin holds one as well."""
    try:
        answer = json.loads(response.content.removeprefix(EVENT))
    except ValueError:
        return None
    return answer if isinstance(answer, dict) else None


def refusal(status: int, message: str, connection: Connection) -> ClusterError:
    """What Argo's server said, with the remedy where there is one."""
    namespace = connection.namespace
    if status == 401:
        remedy = f"the token is from {connection.token_from}; set ARGO_TOKEN to one that is valid"
        return ClusterError(f"{connection.url}: {message}; {remedy}")
    if status == 403:
        remedy = f"ARGO_NAMESPACE names another namespace than {namespace}; the token is from {connection.token_from}"
        return ClusterError(f"{connection.url}: {message}; {remedy}")
    if status in COME_AGAIN:
        return LostError(f"{connection.url}: {message}")
    kinds = {404: MissingError, 409: ExistsError}
    return kinds.get(status, ClusterError)(f"{connection.url}: {message}")


def _address_of(connection: Connection) -> str:
    return (
        f"`server` of cluster {connection.profile}" if connection.profile else "ARGO_SERVER or the profile's `server`"
    )


def _distrust(error: BaseException) -> str:
    """Why there is no connection by TLS, with the remedy."""
    found = _bottom(error)
    remedy = "name its CA's file as `ca` in the cluster's profile, or in SSL_CERT_FILE"
    if isinstance(found, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({found.verify_message}); {remedy}"
    if isinstance(found, ssl.SSLError) and found.library == "X509":
        return f"the file of its CA holds no certificate; {remedy}"
    return f"it does not speak TLS ({_cause(error)}); if it speaks plain HTTP, write http://, or ARGO_SECURE=false"


def _cause(error: BaseException) -> str:
    """What happened at the bottom of it: `Connection refused`."""
    found = _bottom(error)
    return getattr(found, "strerror", None) or str(found) or type(found).__name__


def _bottom(error: BaseException) -> BaseException:
    """The error that all others came from. urllib3 holds some among its arguments."""
    held = next((one for one in error.args if isinstance(one, BaseException)), None)
    cause = getattr(error, "reason", None) or held or error.__cause__ or error.__context__
    return _bottom(cause) if isinstance(cause, BaseException) else error
