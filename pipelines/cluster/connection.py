"""Where a cluster's Argo server is, and as whom it is asked: environment before profile before kubeconfig.

The variables are those of Argo's own command line (cmd/argo/commands/client/conn.go).
"""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from argosy.pipelines.cluster import kubeconfig
from argosy.pipelines.cluster.errors import ClusterError
from argosy.pipelines.cluster.profiles import FILE, Profile, profiles
from argosy.pipelines.names import DNS_NAME, suggestion

DEFAULT_NAMESPACE = "default"
_TOKEN = re.compile(r"[!-~]+")


@dataclass(frozen=True)
class Connection:
    """An Argo server, a namespace, and the right to use them."""

    url: str
    """Begins with a scheme and ends with a slash."""
    namespace: str
    token: str = field(repr=False)
    """The header `Authorization`, scheme and all; empty for none."""
    token_from: str
    """Where the token comes from, for a person."""
    verify: bool | str
    """Whether the server's certificate is verified; the path of the certificates that it is verified by."""
    profile: str | None
    """The profile that was asked for by name."""

    def __str__(self) -> str:
        return f"{self.url} (namespace {self.namespace})"


def connection(wanted: str | None, project: Path, environment: Mapping[str, str] = os.environ) -> Connection:
    """The cluster of this name; without a name the only one that there is. Raises ClusterError."""
    profile = _profile(wanted, project, environment)
    url = _url(wanted, profile, environment)
    context = cache(lambda: kubeconfig.current(environment))  # read only where it is needed
    namespace = environment.get("ARGO_NAMESPACE") or (profile and profile.namespace) or context().namespace
    namespace = namespace or DEFAULT_NAMESPACE
    if not DNS_NAME.fullmatch(namespace):
        raise ClusterError(f"{namespace!r} is no namespace; ARGO_NAMESPACE, the profile or kubeconfig says so")
    token, token_from = _token(profile, context, environment)
    return Connection(
        url=url,
        namespace=namespace,
        token=token,
        token_from=token_from,
        verify=_verification(profile, project, environment),
        profile=wanted,
    )


def _profile(wanted: str | None, project: Path, environment: Mapping[str, str]) -> Profile | None:
    known = profiles(project)
    if wanted is not None:
        if wanted not in known:
            otherwise = f"there are {', '.join(known)}" if known else f"write [tool.argosy.clusters.{wanted}]"
            raise ClusterError(f"{project / FILE}: has no cluster {wanted!r}; {suggestion(wanted, known, otherwise)}")
        return known[wanted]
    if environment.get("ARGO_SERVER"):
        return None
    if len(known) > 1:
        raise ClusterError(f"{project / FILE}: names several clusters; choose one with -c {' or -c '.join(known)}")
    return next(iter(known.values()), None)


def _url(wanted: str | None, profile: Profile | None, environment: Mapping[str, str]) -> str:
    scheme = "http" if environment.get("ARGO_SECURE") == "false" else "https"
    given = environment.get("ARGO_SERVER", "")
    from_environment = given and _address(given + environment.get("ARGO_BASE_HREF", ""), scheme)
    from_profile = profile and _address(profile.server, "https")
    if from_environment and profile and from_environment != from_profile:
        what = f"ARGO_SERVER is {given}, and cluster {wanted!r} is {profile.server}"
        raise ClusterError(f"{what}; unset ARGO_SERVER, or leave the cluster's name out")
    if url := from_environment or from_profile:
        return url
    remedy = f'write [tool.argosy.clusters.NAME] with server = "https://..." into {FILE}, or set ARGO_SERVER'
    raise ClusterError(f"no cluster is known; {remedy}")


def _address(text: str, scheme: str) -> str:
    """The address with its scheme and a slash at its end. Raises ClusterError, which tells no credentials."""
    url = text if "://" in text else f"{scheme}://{text}"
    if "@" in url:
        raise ClusterError("the address of Argo's server holds credentials; write https://HOST:PORT, the token apart")
    if not is_address(url):
        raise ClusterError(f"{text!r} is no address; write https://HOST:PORT")
    return url.rstrip("/") + "/"


def is_address(url: str) -> bool:
    """Whether something can be added to its path."""
    try:
        parts = urlsplit(url)
        is_plain = not re.search(r"[\s?#@]", url)
        return is_plain and parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number
        return False


def _token(
    profile: Profile | None, context: Callable[[], kubeconfig.Context], environment: Mapping[str, str]
) -> tuple[str, str]:
    """The header's value, and where it comes from. A profile's own variable counts before the common one: what is
    meant for one cluster is not sent to another.
    """
    name = profile.token_env if profile and profile.token_env else "ARGO_TOKEN"
    token = environment.get(name, "").strip()
    if not token and profile and profile.token_env:
        raise ClusterError(f"{name} is not set, and holds the token of {profile.server}; set it")
    if not token:
        name, token = f"kubeconfig's user {context().user}", context().token().strip()
    scheme, _, secret = token.rpartition(" ")
    if not token:
        return "", "nowhere"
    if scheme not in ("", "Bearer", "Basic") or not _TOKEN.fullmatch(secret):
        raise ClusterError(f"{name} holds no token: it has spaces or unusual characters; set it to the token alone")
    return f"{scheme or 'Bearer'} {secret}", name


def _verification(profile: Profile | None, project: Path, environment: Mapping[str, str]) -> bool | str:
    if environment.get("ARGO_INSECURE_SKIP_VERIFY") == "true":
        return False
    if not profile or not profile.ca:
        # What Argo's command line, a Go program, reads; requests reads REQUESTS_CA_BUNDLE by itself.
        return environment.get("SSL_CERT_FILE") or True
    path = project / profile.ca
    if not path.is_file():
        raise ClusterError(f"{project / FILE}: ca = {profile.ca!r}: there is no file {path}; name the CA's PEM file")
    return str(path)
