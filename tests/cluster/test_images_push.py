"""An image reaches a registry by buildah itself, and what is recorded of it is what the registry has."""

import os
import re
import subprocess
import threading
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from testcluster.images import BUILDAH
from testcluster.needs import lacking

from argosy.pipelines.errors import Refusal
from argosy.pipelines.images.engine import Build, Engine

TAG = "localhost/argosy/push-test:1"


class Registry(ThreadingHTTPServer):
    """As much of a registry as a push needs (OCI distribution-spec, "Pushing")."""

    def __init__(self, *, is_open: bool) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.is_open = is_open
        self.blobs: dict[str, bytes] = {}
        self.manifests: dict[str, bytes] = {}

    @property
    def name(self) -> str:
        return f"127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Registry
    uploads: dict[str, bytes] = {}  # noqa: RUF012 - shared by the connections of an upload

    def log_message(self, *_: object) -> None: ...

    def answer(self, status: int, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": "0", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        data = b""
        while size := int(self.rfile.readline(), 16):
            data += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return data

    def do_GET(self) -> None:
        if self.server.is_open:
            self.answer(200)
        else:
            self.answer(401, WWW_Authenticate='Basic realm="test"')

    def do_HEAD(self) -> None:
        digest = self.path.rpartition("/")[2]
        blob = self.server.blobs.get(digest)
        if blob is None:
            self.answer(404)
        else:
            self.answer(200, Content_Length=str(len(blob)), Docker_Content_Digest=digest)

    def do_POST(self) -> None:
        self.body()
        self.answer(202 if self.server.is_open else 401, Location=f"{self.path}{os.urandom(8).hex()}")

    def do_PATCH(self) -> None:
        data = self.uploads[self.path] = self.uploads.get(self.path, b"") + self.body()
        self.answer(202, Location=self.path, Range=f"0-{len(data) - 1}")

    def do_PUT(self) -> None:
        path, _, query = self.path.partition("?")
        data = self.uploads.pop(path, b"") + self.body()
        digest = f"sha256:{sha256(data).hexdigest()}"
        if "/manifests/" in path:
            self.server.manifests[path] = data
        else:
            assert query == f"digest={digest.replace(':', '%3A')}"
            self.server.blobs[digest] = data
        self.answer(201, Docker_Content_Digest=digest, Location=path)


@pytest.fixture
def registry(tmp_path, monkeypatch):
    """`registry(is_open=...)` starts one, which buildah may reach without TLS."""
    if reason := lacking():
        pytest.skip(f"cluster tier not run: {reason}")
    started: list[Registry] = []

    def start(*, is_open: bool) -> Registry:
        server = Registry(is_open=is_open)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        started.append(server)
        settings = tmp_path / "registries.conf"
        settings.write_text(f'[[registry]]\nlocation = "{server.name}"\ninsecure = true\n')
        monkeypatch.setenv("CONTAINERS_REGISTRIES_CONF", str(settings))
        return server

    yield start
    for server in started:
        server.shutdown()
        server.server_close()


@pytest.fixture
def engine(tmp_path, monkeypatch):
    """buildah, with a small image."""
    for name, value in BUILDAH.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "auth.json").write_text("{}")
    monkeypatch.setenv("REGISTRY_AUTH_FILE", str(tmp_path / "auth.json"))
    folder = tmp_path / "context"
    folder.mkdir()
    (folder / "file").write_bytes(os.urandom(1000))
    (folder / "Containerfile").write_text("FROM scratch\nCOPY file /\n")
    made = Engine.found("buildah", lambda _: None)
    made.build(Build(TAG, folder / "Containerfile", folder, {}))
    yield made
    subprocess.run(["buildah", "rmi", TAG], capture_output=True, check=True)


def test_the_digest_of_a_push_is_that_of_the_manifest_in_the_registry(registry, engine):
    server = registry(is_open=True)
    assert engine.has(TAG)
    digest = engine.push(TAG, f"{server.name}/argosy/push-test:1")
    (manifest,) = server.manifests.values()
    assert digest == f"sha256:{sha256(manifest).hexdigest()}"
    assert set(re.findall(r"sha256:[0-9a-f]{64}", manifest.decode())) == set(server.blobs)


def test_a_registry_that_asks_who_one_is_is_told_with_the_command_to_log_in(registry, engine):
    server = registry(is_open=False)
    with pytest.raises(Refusal, match=f"`buildah login {server.name}` first"):
        engine.push(TAG, f"{server.name}/argosy/push-test:1")


def test_a_build_that_fails_is_told_with_what_the_engine_said(engine, tmp_path):
    file = tmp_path / "Containerfile"
    file.write_text(f"FROM {TAG}\nCOPY nothing /\n")
    with pytest.raises(Refusal, match=r"`buildah build` failed with exit code \d+.*(\n.*)*nothing"):
        engine.build(Build("localhost/argosy/push-test:2", file, tmp_path, {}))
