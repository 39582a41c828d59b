"""Kubernetes' API, as far as a gang needs it."""

import json
import random
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, TypeVar

import requests
from requests.auth import AuthBase

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError, configuration_error
from argosy.steps.gang.account import Account

Json = dict[str, Any]
Answer = TypeVar("Answer")

CONNECT_SECONDS, ANSWER_SECONDS = 10.0, 60.0
WATCH_SECONDS = 60
"""A watch ends after so long, and what it watches is listed anew: nothing that it missed stays missed for longer."""

LACKS_RIGHT = re.compile(r'User "[^"]*" cannot ')
"""What is said for want of a right (kubernetes: apiserver/pkg/endpoints/handlers/responsewriters/errors.go); quotas and
admission webhooks forbid with other words.
"""

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 15.0


class RefusedError(StepError):
    """The API server said no, for good."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(ExitCode.CONFIGURATION, message)
        self.status = status


class LostError(StepError):
    """No answer, or one that says nothing about what was asked."""

    def __init__(self, message: str) -> None:
        super().__init__(ExitCode.TEMPORARY, message)


@dataclass(frozen=True)
class Api:
    account: Account
    complain: Callable[[str], None]
    """Told of each trouble that is waited out."""
    patience_seconds: float = 600.0
    """How long a trouble of the API server is waited out: meanwhile the gang trains."""

    def read(self, path: str, **parameters: str) -> Json:
        """Raises StepError."""
        return self._patiently(lambda: self._asked("GET", path, parameters))

    def create(self, path: str, body: Json) -> None:
        """Its name is new: when there is such an object, a request whose answer was lost has made it.

        Raises StepError.
        """
        try:
            self._patiently(lambda: self._asked("POST", path, {}, body))
        except RefusedError as refused:
            if refused.status != HTTPStatus.CONFLICT:
                raise

    def delete(self, path: str) -> None:
        """It goes when all that it owns is gone. Raises StepError, unless it is gone already."""
        try:
            self._patiently(lambda: self._asked("DELETE", path, {"propagationPolicy": "Foreground"}))
        except RefusedError as refused:
            if refused.status != HTTPStatus.NOT_FOUND:
                raise

    def events(self, path: str, **parameters: str) -> Iterator[tuple[str, Json]]:
        """Changes from a resource version on, `ADDED`, `MODIFIED` or `DELETED` and the object; not for long.

        Raises RefusedError, LostError.
        """
        query = {**parameters, "watch": "true", "timeoutSeconds": str(WATCH_SECONDS)}
        for line in self.lines(path, **query):
            try:
                event = json.loads(line)
                type_, found = event["type"], event["object"]
            except (ValueError, KeyError, TypeError):
                raise LostError(f"the API server {self.account.address} watches with what is no event") from None
            if type_ == "ERROR":  # the resource version is too old
                return
            yield type_, found

    def lines(self, path: str, **parameters: str) -> Iterator[str]:
        """Whole lines of an answer, as they come. Raises RefusedError, LostError."""
        with self._answer("GET", path, parameters, stream=True) as response:
            rest = b""
            for block in response.iter_content(None):  # as it comes
                *whole, rest = (rest + block).split(b"\n")
                yield from (line.decode(errors="replace") for line in whole)

    def _patiently(self, ask: Callable[[], Answer]) -> Answer:
        until = time.monotonic() + self.patience_seconds
        pause = FIRST_PAUSE
        while True:
            try:
                return ask()
            except LostError as lost:
                wait = pause * random.uniform(0.5, 1)  # noqa: S311 - many gangs must not come back as one
                if time.monotonic() + wait > until:
                    raise
                self.complain(f"{lost.message}; it is asked again")
            time.sleep(wait)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _asked(self, method: str, path: str, parameters: dict[str, str], body: Json | None = None) -> Json:
        with self._answer(method, path, parameters, body) as response:
            answer: Json = response.json()
            return answer

    @contextmanager
    def _answer(
        self,
        method: str,
        path: str,
        parameters: dict[str, str],
        body: Json | None = None,
        *,
        stream: bool = False,
    ) -> Iterator[requests.Response]:
        url = f"{self.account.address}{path}"
        with requests.Session() as session:
            # Proxies, certificates and passwords of the environment are for the user's code.
            session.trust_env = False
            session.auth = _Token(self.account)
            session.verify = str(self.account.authority)
            try:
                response = session.request(
                    method,
                    url,
                    params=parameters,
                    json=body,
                    stream=stream,
                    timeout=(CONNECT_SECONDS, ANSWER_SECONDS + WATCH_SECONDS),
                    allow_redirects=False,
                )
                with response:
                    self._judge(response, f"{method} {path}")
                    yield response
            except requests.exceptions.SSLError as error:
                raise configuration_error(f"{url}: is not trusted by {self.account.authority}: {error}") from None
            except (requests.RequestException, OSError, ValueError) as error:
                raise LostError(
                    f"the API server {self.account.address} gives no answer ({type(error).__name__})"
                ) from error

    def _judge(self, response: requests.Response, asked: str) -> None:
        if response.ok:
            return
        message = _message(response)
        status = response.status_code
        if status == HTTPStatus.UNAUTHORIZED:
            raise LostError(f"the API server does not know the pod's token: {message}")
        if status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise LostError(f"the API server answers {status} to {asked}: {message}")
        if status == HTTPStatus.FORBIDDEN and LACKS_RIGHT.search(message):
            message = f"{message}; give the pod's service account this right, as `argosy install` does"
        raise RefusedError(status, message)


class _Token(AuthBase):
    def __init__(self, account: Account) -> None:
        self._account = account

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._account.token()}"
        return request


def _message(response: requests.Response) -> str:
    try:
        return str(response.json()["message"])
    except (ValueError, KeyError, TypeError):
        return response.text[:200].strip() or response.reason
