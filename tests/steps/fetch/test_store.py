"""How a remote is reached, and what is said when it cannot be: never with a credential, and never after a long wait."""

import asyncio
import socket
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import objectstore
import pytest

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.pins import Remote
from argosy.steps.stage import pace, reading, remotes, store
from argosy.steps.stage.failures import Busy, Denied, Keyless, Missing, Passing, Refused, Unauthorized, Wrong

SECRET = "a-secret-that-nobody-may-see"
MD5 = "0" * 32
DVC_SECRETS = {"access_key_id": "argosy-test", "secret_access_key": SECRET, "session_token": SECRET}


@contextmanager
def answering(status, body=b"", **headers):
    """A server that gives everyone this answer; its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """Opens a remote with an environment of its own."""

    def call(url="s3://bucket/prefix", env=None, secrets=None, **fields):
        known = {"AWS_EC2_METADATA_DISABLED": "true", "HOME": "/nowhere", **(env or {})}
        for name in ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
            monkeypatch.delenv(name, raising=False)
        for name, value in known.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(remotes, "secrets", lambda *_: secrets or {})
        return store.opened(Remote(name="store", url=url, **fields), tmp_path)

    return call


def keys(endpoint="", key="argosy-test"):
    return {"AWS_ENDPOINT_URL": endpoint, "AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": SECRET}


def failure(remote):
    with pytest.raises(store.failures.StoreFailure) as caught:
        asyncio.run(remote.read(MD5, 0, 10))
    assert SECRET not in str(caught.value)
    return caught.value


def error(code):
    return f"<Error><Code>{code}</Code><Message>{SECRET}</Message></Error>".encode()


@pytest.mark.parametrize(
    ("status", "code", "kind", "said"),
    [
        (400, "ExpiredToken", Refused, "renew it"),
        (400, "RequestTimeout", Passing, "answers 400 RequestTimeout"),
        (400, "InvalidArgument", Refused, "answers 400 InvalidArgument"),
        (400, "AuthorizationHeaderMalformed", Refused, "AWS_REGION"),
        (401, "Unauthorized", Unauthorized, "answers 401"),
        (403, "AccessDenied", Denied, "answers 403 AccessDenied"),
        (403, "InvalidAccessKeyId", Unauthorized, "InvalidAccessKeyId"),
        (403, "SignatureDoesNotMatch", Unauthorized, "SignatureDoesNotMatch"),
        (403, "RequestTimeTooSkewed", Refused, "clock"),
        (404, "NoSuchKey", Missing, "NoSuchKey"),
        (404, "NoSuchBucket", Refused, "no such bucket"),
        (404, "XAdminUserNotFound", Unauthorized, "XAdminUserNotFound"),
        (404, "", Missing, "404"),
        (408, "", Passing, "408"),
        (409, "OperationAborted", Passing, "409"),
        (416, "InvalidRange", Wrong, "416"),
        (429, "TooManyRequests", Busy, "429"),
        (500, "InternalError", Passing, "500"),
        (501, "NotImplemented", Refused, "501"),
        (503, "SlowDown", Busy, "503 SlowDown"),
    ],
)
def test_every_answer_has_its_meaning_and_none_is_quoted(opened, status, code, kind, said):
    with answering(status, error(code) if code else b"") as address:
        found = failure(opened(env=keys(address)))
    assert type(found) is kind
    assert said in str(found)


def test_a_bucket_in_another_region_is_told_with_the_variable(opened):
    with answering(301, x_amz_bucket_region="eu-west-1") as address:
        found = failure(opened(env=keys(address)))
    assert isinstance(found, Refused)
    assert "AWS_REGION" in str(found)


def test_a_store_that_ignores_ranges_is_not_taken_for_right(opened):
    with answering(200, b"hello", ETag='"x"', Last_Modified="Tue, 15 Nov 1994 12:45:26 GMT") as address:
        assert isinstance(failure(opened(env=keys(address))), Wrong)


def test_a_server_that_is_not_there_is_a_temporary_failure_that_says_so(opened, monkeypatch):
    monkeypatch.setattr(pace, "LONGEST_WAIT_SECONDS", 0.01)
    remote = opened(env=keys(f"http://127.0.0.1:{free_port()}"))
    with pytest.raises(StepError, match="does not answer: tcp connect error: Connection refused") as caught:
        reading.whole(remote, "data", f"{MD5}.dir")
    assert caught.value.exit_code == ExitCode.TEMPORARY


def test_a_certificate_that_nobody_vouches_for_is_a_matter_of_configuration():
    text = "HTTP error\n\nDebug source: kind: Connect ... invalid peer certificate: UnknownIssuer"
    found = store.failures.of(RuntimeError(text))
    assert isinstance(found, Refused)
    assert "AWS_CA_BUNDLE" in str(found)


def test_a_metadata_service_that_has_no_token_is_asked_again_for_seconds_only():
    found = store.failures.of(RuntimeError("Error performing token request\n\nTokenRequest {kind: Connect}"))
    assert isinstance(found, Keyless)
    assert found.patience_seconds <= 10


def test_an_address_with_a_signature_is_not_repeated():
    text = f"Error performing GET https://a.blob/c?sig={SECRET} - HTTP error\nkind: Timeout"
    assert SECRET not in str(store.failures.of(RuntimeError(text)))


def test_without_credentials_it_is_refused_at_once_and_the_variables_are_named(opened):
    began = time.monotonic()
    with pytest.raises(
        StepError, match=r"DVC remote store: there are no credentials for it; .*AWS_ACCESS_KEY_ID"
    ) as caught:
        opened(endpoint="http://127.0.0.1:1")
    assert caught.value.exit_code == ExitCode.CONFIGURATION
    assert time.monotonic() - began < 5


def test_a_profile_that_is_not_there_is_named(opened):
    with pytest.raises(StepError, match="nobody") as caught:
        opened(env={"AWS_PROFILE": "nobody"})
    assert caught.value.exit_code == ExitCode.CONFIGURATION


@pytest.mark.parametrize("address", ["nonsense", "ftp://127.0.0.1", "http://"])
def test_an_endpoint_that_is_none_is_a_matter_of_configuration(opened, address):
    with pytest.raises(StepError, match="endpoint") as caught:
        opened(env=keys(address))
    assert caught.value.exit_code == ExitCode.CONFIGURATION


def test_a_folder_that_is_not_there_is_a_matter_of_configuration(opened):
    with pytest.raises(StepError, match="is no folder") as caught:
        opened(url="nowhere")
    assert caught.value.exit_code == ExitCode.CONFIGURATION


@pytest.fixture
def buckets(tmp_path):
    """A folder for a server, with one object in it."""
    if why := objectstore.missing():
        pytest.skip(f"reading out of S3 was not tested: {why}")
    place = tmp_path / "buckets/bucket/prefix/files/md5" / MD5[:2] / MD5[2:]
    place.parent.mkdir(parents=True)
    place.write_bytes(b"hello")
    return tmp_path / "buckets"


@pytest.fixture
def guarded(buckets):
    """The address of a server that wants a key."""
    with objectstore.serving(buckets, require_key=True) as serving:
        yield serving.address


def read(remote):
    return bytes(asyncio.run(remote.read(MD5, 0, 10)))


def test_the_environments_keys_come_before_those_of_dvcs_configuration(opened, guarded):
    assert read(opened(env=keys(guarded), secrets=DVC_SECRETS | {"access_key_id": "wrong"})) == b"hello"
    assert isinstance(failure(opened(env=keys(guarded, "wrong"), secrets=DVC_SECRETS)), Unauthorized)


def test_the_keys_of_dvcs_configuration_are_enough(opened, guarded):
    assert read(opened(endpoint=guarded, secrets=DVC_SECRETS)) == b"hello"


def test_the_environments_endpoint_comes_before_the_pins(opened, guarded):
    assert read(opened(env=keys(guarded), endpoint="http://127.0.0.1:1")) == b"hello"


@pytest.mark.parametrize("named", ["environment", "dvc"])
def test_a_profile_is_read_from_the_file_of_credentials(opened, guarded, tmp_path, named):
    file = tmp_path / "credentials"
    file.write_text(f"[team]\naws_access_key_id = argosy-test\naws_secret_access_key = {SECRET}\n")
    if named == "environment":
        remote = opened(env={"AWS_PROFILE": "team", "AWS_SHARED_CREDENTIALS_FILE": str(file)}, endpoint=guarded)
    else:
        remote = opened(secrets={"profile": "team", "credentialpath": str(file)}, endpoint=guarded)
    assert read(remote) == b"hello"


def test_wrong_keys_are_a_matter_of_configuration_with_the_remedy_and_without_the_secret(opened, guarded):
    with pytest.raises(StepError, match=r"may not be read: .*InvalidAccessKeyId; give AWS_ACCESS_KEY_ID") as caught:
        reading.whole(opened(env=keys(guarded, "wrong")), "data", f"{MD5}.dir")
    assert caught.value.exit_code == ExitCode.CONFIGURATION
    assert SECRET not in caught.value.message


def test_google_and_azure_are_read_by_the_same_names(opened, buckets):
    with objectstore.serving(buckets) as serving:
        google = {"GOOGLE_SKIP_SIGNATURE": "true"}
        assert read(opened(url="gs://bucket/prefix", env=google, endpoint=serving.address)) == b"hello"
        connection = f"AccountName=a;AccountKey=c2VjcmV0;BlobEndpoint={serving.address}"
        assert read(opened(url="azure://bucket/prefix", secrets={"connection_string": connection})) == b"hello"
        assert isinstance(failure(opened(url="azure://bucket/x", secrets={"connection_string": connection})), Missing)


def test_an_azure_remote_without_an_account_is_a_matter_of_configuration(opened):
    with pytest.raises(StepError, match="Account must be specified") as caught:
        opened(url="azure://bucket/prefix")
    assert caught.value.exit_code == ExitCode.CONFIGURATION
