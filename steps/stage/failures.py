"""What it means that a store does not give what it was asked for.

obstore tells little by the class of its errors: most are GenericError. The rest stands in their text, whose form is
that of Rust's object_store crate (src/client/retry.rs, `RetryError`, and src/client/http/connection.rs,
`HttpErrorKind`). Of that text nothing is repeated but what is known to hold no secret: an address may hold a signature.
"""

import re
from http import HTTPStatus


class StoreFailure(Exception):  # noqa: N818 - its kinds say what it is
    """A store did not give what it was asked for; the text says why, as the end of a sentence."""


class ObjectFailure(StoreFailure):
    """It is this one object that cannot be had."""


class Missing(ObjectFailure):
    """There is no such object."""


class Denied(ObjectFailure):
    """It may not be read. S3 says so of what is missing, too, to those who may not list the bucket."""


class Wrong(ObjectFailure):
    """Its bytes are not those that its name stands for."""


class Refused(StoreFailure):
    """The store will answer the same for every object, however often it is asked."""


class Unauthorized(Refused):
    """Other credentials may do."""


class Passing(StoreFailure):
    """Asked again, the store may well answer."""

    patience_seconds = 180.0
    """After which it is not asked again."""


class Busy(Passing):
    """It asks for fewer requests."""


class Keyless(Passing):
    """No credentials can be had: a new node's metadata service takes seconds to start, and many nodes have none."""

    patience_seconds = 10.0


_STATUS = re.compile(r"non-2xx status code: (\d{3})")
_CODE = re.compile(r"<Code>(\w+)</Code>")
_KIND = re.compile(r"\bkind: (Connect|Request|Timeout|Interrupted|Decode|Unknown)\b")
_DETAIL = re.compile(r'"(tcp connect error|dns error)"|message: "([\w ]+)"')
_KEYLESS = re.compile(
    r"TokenRequest|/latest/(api/token|meta-data)|External \w+ credential provider|Missing\w*(Key|Token)"
)

CODES: dict[str, type[StoreFailure]] = {
    "NoSuchKey": Missing,
    "BlobNotFound": Missing,
    "ResourceNotFound": Missing,
    "AccessDenied": Denied,
    "RequestTimeout": Passing,  # S3's, with status 400
    "InvalidRange": Wrong,
}
"""What the store's own error code means, where its status does not tell."""

STATUSES: dict[int, type[StoreFailure]] = {
    HTTPStatus.UNAUTHORIZED: Unauthorized,
    HTTPStatus.FORBIDDEN: Denied,
    HTTPStatus.NOT_FOUND: Missing,
    HTTPStatus.REQUEST_TIMEOUT: Passing,
    HTTPStatus.CONFLICT: Passing,
    HTTPStatus.PRECONDITION_FAILED: Passing,
    HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE: Wrong,
    HTTPStatus.TOO_MANY_REQUESTS: Busy,
    HTTPStatus.NOT_IMPLEMENTED: Refused,
    HTTPStatus.SERVICE_UNAVAILABLE: Busy,
}

REGION = "the bucket is in another region: give AWS_REGION"
CLOCK = "this machine's clock differs from the store's: set it, best by NTP"
HINTS = {
    "RequestTimeTooSkewed": CLOCK,
    "RequestExpired": CLOCK,
    "ExpiredToken": "the session token has expired: renew it",
    "AuthorizationHeaderMalformed": REGION,
    "PermanentRedirect": REGION,
    "NoSuchBucket": "there is no such bucket",
    "ContainerNotFound": "there is no such container",
}
"""The store's own error code -> what it says to a person."""


def of(error: Exception) -> StoreFailure:
    """What an error of obstore means."""
    text = str(error)
    if _KEYLESS.search(text):
        return Keyless("there are no credentials for it")
    if status := _STATUS.search(text):
        code = _CODE.search(text)
        return _of_answer(int(status[1]), code[1] if code else "")
    if isinstance(error, FileNotFoundError):
        return Missing("there is no such object")
    return _of_silence(text)


def _of_answer(status: int, code: str) -> StoreFailure:
    said = f"it answers {status} {code}".strip()
    if code in HINTS:
        return Refused(f"{said}: {HINTS[code]}")
    if code in CODES:
        return CODES[code](said)
    if code and status in (HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND):  # some servers do not find the key's owner
        return Unauthorized(said)
    if status in STATUSES:
        return STATUSES[status](said)
    return Passing(said) if status >= HTTPStatus.INTERNAL_SERVER_ERROR else Refused(said)


def _of_silence(text: str) -> StoreFailure:
    """What came instead of an answer, or in place of its body."""
    if "NotPartial" in text or "StartTooLarge" in text:
        return Wrong("is empty, or the store knows no ranges")
    if "BareRedirect" in text:
        return Refused(REGION)
    if "InvalidCertificate" in text or "UnknownIssuer" in text:
        return Refused("nobody here vouches for its certificate: name its authority's file in AWS_CA_BUNDLE")
    kind = _KIND.search(text)
    if kind is None or "BadScheme" in text:
        return Refused("it cannot be asked as it is configured")
    details = [next(filter(None, found)) for found in _DETAIL.findall(text)]
    reasons = {"Timeout": "no answer in time", "Interrupted": "its answer was cut short"}
    told = [reasons[kind[1]]] if kind[1] in reasons else []
    return Passing(": ".join([*told, *details]) or "no answer")
