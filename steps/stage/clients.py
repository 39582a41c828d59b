"""How a bucket is reached: from the environment, then from the pin, then with the keys in DVC's own configuration.

s3      AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_PROFILE,
        AWS_CA_BUNDLE; without a key all that boto3 looks at: ~/.aws, SSO, web identity, containers, instances
gs      GOOGLE_APPLICATION_CREDENTIALS, or what the instance's metadata service gives
azure   AZURE_STORAGE_CONNECTION_STRING, or AZURE_STORAGE_ACCOUNT_NAME with AZURE_STORAGE_ACCOUNT_KEY or
        AZURE_STORAGE_SAS_TOKEN, or what obstore itself reads from AZURE_*
"""

import os
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from argosy.steps.errors import StepError, configuration_error
from argosy.steps.pins import Remote
from argosy.steps.stage import remotes

if TYPE_CHECKING:
    from obstore.store import ObjectStore

CONNECT_SECONDS, STALL_SECONDS = 5, 15
LONGEST_REQUEST = timedelta(minutes=10)
"""A part of 4 MiB over a link of which each of many requests gets 7 kB/s; a store that sends nothing stalls earlier."""

Settings = Any
"""A client's, by obstore's names of them, which it checks itself."""
Secrets = Mapping[str, str]


def client(remote: Remote, project: Path, objects: str) -> "ObjectStore":
    """A client for the objects in a folder of a remote that is a bucket. Raises StepError (CONFIGURATION)."""
    address = urlsplit(remote.url)
    kind = _KINDS.get(address.scheme)
    if kind is None or not address.netloc:
        raise configuration_error(f"{remote.title}: is of no kind that argosy reads: s3, gs, azure, a folder")
    from obstore.exceptions import BaseError

    secrets = remotes.secrets(project, remote.name) if project.is_dir() else {}
    prefix = "/".join(filter(None, (address.path.strip("/"), objects)))
    try:
        return kind(address.netloc, prefix, remote, secrets)
    except (ValueError, OSError, BaseError) as error:
        raise _misconfigured(remote, error) from None


def _misconfigured(remote: Remote, error: Exception) -> StepError:
    reason = " ".join(str(error).partition("Debug source")[0].split())
    return configuration_error(f"{remote.title}: cannot be used as it is configured: {reason}")


def _s3(bucket: str, prefix: str, remote: Remote, secrets: Secrets) -> "ObjectStore":
    from obstore.store import S3Store

    endpoint = _environment("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL") or remote.endpoint
    config = _s3_keys(remote, secrets)
    provider = config.pop("credential_provider", None)
    region = _environment("AWS_REGION", "AWS_DEFAULT_REGION") or remote.region or config.get("region", "us-east-1")
    config.update(_given(endpoint=endpoint, region=region))
    return S3Store(bucket, prefix=prefix, config=config, credential_provider=provider, **_http(endpoint))


def _s3_keys(remote: Remote, secrets: Secrets) -> Settings:
    access, secret = _environment("AWS_ACCESS_KEY_ID"), _environment("AWS_SECRET_ACCESS_KEY")
    if access and secret:
        token = _environment("AWS_SESSION_TOKEN")
        return _given(access_key_id=access, secret_access_key=secret, session_token=token)
    if _environment("AWS_SKIP_SIGNATURE"):
        return {"skip_signature": True}
    profile = _environment("AWS_PROFILE") or secrets.get("profile", "")
    if not profile and "access_key_id" in secrets:
        return _given(**{name: secrets.get(name) for name in ("access_key_id", "secret_access_key", "session_token")})
    return _boto(remote, profile, secrets)


def _boto(remote: Remote, profile: str, secrets: Secrets) -> Settings:
    """The keys that boto3 finds, and renews. It asks an instance's metadata service once, for a second."""
    import botocore.session  # type: ignore[import-untyped] # botocore has no types
    from botocore.exceptions import BotoCoreError  # type: ignore[import-untyped] # botocore has no types
    from obstore.auth.boto3 import Boto3CredentialProvider

    session = botocore.session.Session(profile=profile or None)
    for variable, option in (("credentials_file", "credentialpath"), ("config_file", "configpath")):
        if option in secrets:
            session.set_config_variable(variable, secrets[option])
    try:
        if session.get_credentials() is None:
            raise configuration_error(f"{remote.title}: there are no credentials for it; {S3_REMEDY}")
        region = session.get_config_variable("region")
        return _given(credential_provider=Boto3CredentialProvider(session), region=region)
    except BotoCoreError as error:
        raise configuration_error(f"{remote.title}: {' '.join(str(error).split())}; {S3_REMEDY}") from None


def _gs(bucket: str, prefix: str, remote: Remote, secrets: Secrets) -> "ObjectStore":
    from obstore.store import GCSStore

    file = _environment("GOOGLE_APPLICATION_CREDENTIALS") or secrets.get("credentialpath")
    config = _given(application_credentials=file, base_url=_environment("GOOGLE_BASE_URL") or remote.endpoint)
    return GCSStore(bucket, prefix=prefix, config=config, **_http(config.get("base_url", "")))


def _azure(container: str, prefix: str, remote: Remote, secrets: Secrets) -> "ObjectStore":
    from obstore.store import AzureStore

    connection = _environment("AZURE_STORAGE_CONNECTION_STRING") or secrets.get("connection_string", "")
    known = dict(part.split("=", 1) for part in connection.split(";") if "=" in part)
    named = _environment("AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT")
    endpoint = known.get("BlobEndpoint") or _environment("AZURE_STORAGE_ENDPOINT") or remote.endpoint
    key = _environment("AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_KEY")
    signature = _environment("AZURE_STORAGE_SAS_TOKEN")
    principal = {name: secrets.get(name) for name in ("tenant_id", "client_id", "client_secret")}
    config = _given(
        account_name=known.get("AccountName") or named or remote.account,
        account_key=known.get("AccountKey") or key or secrets.get("account_key"),
        sas_key=known.get("SharedAccessSignature") or signature or secrets.get("sas_token"),
        endpoint=endpoint,
        **principal,
    )
    return AzureStore(container, prefix=prefix, config=config, **_http(endpoint))


def _http(endpoint: str) -> Settings:
    """How every client asks. It asks once: `pace` asks again, and must see what a store answers to that end.

    Raises ValueError for an endpoint that is none, on which obstore would panic.
    """
    address = urlsplit(endpoint)
    if endpoint and (address.scheme not in ("http", "https") or not address.netloc):
        raise ValueError("its endpoint is no http:// or https:// address")
    options: Settings = {
        "allow_http": address.scheme == "http",
        "connect_timeout": timedelta(seconds=CONNECT_SECONDS),
        "read_timeout": timedelta(seconds=STALL_SECONDS),
        "timeout": LONGEST_REQUEST,
    }
    if bundle := _environment("AWS_CA_BUNDLE"):
        options["root_certificate"] = Path(bundle).read_bytes()
    return {"client_options": options, "retry_config": {"max_retries": 0}}


def _environment(*names: str) -> str:
    """The first of these variables that is set."""
    return next((value for name in names if (value := os.environ.get(name, ""))), "")


def _given(**settings: Any) -> Settings:  # noqa: ANN401 - settings are texts, and one credential provider
    return {name: value for name, value in settings.items() if value}


def remedy(remote: Remote) -> str:
    """What to do where a bucket may not be read."""
    return _REMEDIES[urlsplit(remote.url).scheme]


_KINDS: dict[str, Callable[[str, str, Remote, Secrets], "ObjectStore"]] = {"s3": _s3, "gs": _gs, "azure": _azure}

S3_REMEDY = "give AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, of an account that may read it"
_REMEDIES = {
    "s3": S3_REMEDY,
    "gs": "give GOOGLE_APPLICATION_CREDENTIALS, the file of an account that may read it",
    "azure": "give AZURE_STORAGE_CONNECTION_STRING of an account that may read it",
}
