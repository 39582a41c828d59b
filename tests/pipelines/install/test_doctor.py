"""`argosy doctor`: what it finds at servers that are as they should be, and at others."""

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from click.testing import CliRunner

from argosy.pipelines.commands.doctor import doctor

TOKEN = "Bearer planted-secret"
BINDING = {"metadata": {"name": "digits"}, "spec": {"submit": {"workflowTemplateRef": {"name": "digits"}}}}
TEMPLATE = {"metadata": {"name": "digits"}}
INSTALLED = """
serviceaccount/argosy-steps
serviceaccount/argosy-gang
service/argosy-gang
serviceaccount/argosy-triggers
secret/argosy-triggers.service-account-token
secret/argo-workflows-webhook-clients
persistentvolumeclaim/argosy-models
configmap/argosy-staging
"""


class Server:
    """Argo's server, as far as the doctor asks it."""

    def __init__(self):
        self.token = TOKEN
        self.unsigned = 401
        self.posted = []
        self.got = []
        self.answers = {
            "/api/v1/version": {"version": "v4.0.5"},
            "/api/v1/workflows/ml": {"items": None},
            "/api/v1/workflow-event-bindings/ml": {"items": [BINDING]},
            "/api/v1/workflow-templates/ml": {"items": [TEMPLATE]},
        }
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.got.append(self.path.partition("?")[0])
                if self.headers.get("Authorization") != outer.token:
                    self.say(401, {"code": 16, "message": "token not valid"})
                elif (answer := outer.answers.get(self.path.partition("?")[0])) is None:
                    self.say(403, {"code": 7, "message": "forbidden"})
                else:
                    self.say(200, answer)

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.posted.append((self.path, dict(self.headers), body))
                self.say(outer.unsigned, {})

            def say(self, status, answer):
                self.send_response(status)
                if status == 302:
                    self.send_header("Location", "/sign-in")
                self.end_headers()
                self.wfile.write(json.dumps(answer).encode())

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    def close(self):
        self.http.shutdown()
        self.http.server_close()


@pytest.fixture
def server(tmp_path, monkeypatch):
    made = Server()
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith("ARGO_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("ARGO_SERVER", f"127.0.0.1:{made.http.server_port}")
    for name, value in {"ARGO_SECURE": "false", "ARGO_NAMESPACE": "ml", "ARGO_TOKEN": TOKEN}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login a password b\n")
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    yield made
    made.close()


@pytest.fixture
def kubectl(tmp_path, server):  # noqa: ARG001 - its PATH
    """Puts a kubectl on PATH that prints a text, or complains."""

    def put(text, code=0):
        (tmp_path / "printed").write_text(text)
        program = tmp_path / "bin" / "kubectl"
        program.write_text(f"#!/bin/sh\n/bin/cat {tmp_path}/printed >&{2 if code else 1}\nexit {code}\n")
        program.chmod(0o755)

    put(INSTALLED)
    return put


def examined():
    done = CliRunner().invoke(doctor, ["--json"], standalone_mode=False)
    assert done.exception is None, done.exception
    answer = json.loads(done.stdout)
    states = {one["question"]: one["state"] for one in answer["findings"]}
    messages = {one["question"]: one["message"] for one in answer["findings"]}
    assert answer["ok"] == ("failed" not in states.values()) == (done.return_value == 0)
    assert TOKEN.split()[1] not in done.output
    return states, messages


def test_a_cluster_as_it_should_be_is_well(server, kubectl):  # noqa: ARG001
    states, messages = examined()
    assert states == dict.fromkeys(["server", "namespace", "triggers", "webhooks", "objects"], "ok")
    assert "Argo v4.0.5" in messages["server"]
    assert messages["triggers"] == "pushes are listened to by digits"


def test_what_it_finds_is_told_line_by_line(server, kubectl):  # noqa: ARG001
    server.unsigned = 200
    done = CliRunner().invoke(doctor, [], standalone_mode=False)
    assert done.return_value == 1
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["ok", "ok", "ok", "failed", "ok"]


def test_the_unsigned_push_holds_no_credentials_and_says_nothing(server, kubectl):  # noqa: ARG001
    examined()
    ((path, headers, body),) = server.posted
    assert path == "/api/v1/events/ml/argosy-doctor"
    assert "Authorization" not in headers
    assert not [name for name in headers if name.lower().startswith("x-")]
    assert body == b"{}"


@pytest.mark.parametrize(
    ("status", "state", "message"),
    [
        (401, "ok", "refused (401)"),
        (403, "ok", "refused (403)"),
        (200, "failed", "a push that nobody signed is obeyed; run Argo's server with --auth-mode=client"),
        (404, "failed", "answered 404"),
        (302, "failed", "answered 302"),
    ],
)
def test_a_server_that_obeys_unsigned_pushes_is_found(server, kubectl, status, state, message):  # noqa: ARG001
    server.unsigned = status
    states, messages = examined()
    assert states["webhooks"] == state
    assert message in messages["webhooks"]


def test_a_server_that_is_not_there_is_told_and_the_objects_all_the_same(server, kubectl):  # noqa: ARG001
    server.close()
    states, messages = examined()
    assert states == {"server": "failed", "objects": "ok"}
    assert "no answer (Connection refused)" in messages["server"]


def test_a_token_that_is_refused_is_told(server, kubectl):  # noqa: ARG001
    server.token = "another"
    states, messages = examined()
    assert states == {"server": "failed", "objects": "ok"}
    assert "token not valid; the token is from ARGO_TOKEN" in messages["server"]


def test_a_namespace_that_may_not_be_listed_is_told(server, kubectl):  # noqa: ARG001
    del server.answers["/api/v1/workflows/ml"]
    states, _ = examined()
    assert states["namespace"] == "failed"


def test_a_binding_without_its_template_is_found(server, kubectl):  # noqa: ARG001
    server.answers["/api/v1/workflow-templates/ml"] = {"items": None}
    states, messages = examined()
    assert states["triggers"] == "failed"
    assert messages["triggers"].startswith("digits would submit a WorkflowTemplate that is not there; ")


def test_bindings_that_may_not_be_listed_are_no_failure(server, kubectl):  # noqa: ARG001
    del server.answers["/api/v1/workflow-event-bindings/ml"]
    states, _ = examined()
    assert states["triggers"] == "unknown"


def test_missing_objects_are_named(server, kubectl):  # noqa: ARG001
    kubectl(INSTALLED.replace("secret/argo-workflows-webhook-clients\n", ""))
    states, messages = examined()
    assert states["objects"] == "failed"
    assert messages["objects"].startswith("secret/argo-workflows-webhook-clients: not in namespace ml; ")


def test_a_missing_semaphore_is_told_with_what_argo_would_say(server, kubectl):  # noqa: ARG001
    kubectl(INSTALLED.replace("configmap/argosy-staging\n", ""))
    states, messages = examined()
    assert states["objects"] == "failed"
    assert messages["objects"].startswith("configmap/argosy-staging: not in namespace ml; `argosy install -n ml`")
    assert "staging ends in `failed to initialize semaphore`" in messages["objects"]


def test_nothing_is_asked_twice(server, kubectl):  # noqa: ARG001
    examined()
    assert len(server.got) == len(set(server.got)) == 4


def test_a_webhooks_secret_is_missed_only_where_something_listens(server, kubectl):
    kubectl(INSTALLED.replace("secret/argo-workflows-webhook-clients\n", ""))
    server.answers["/api/v1/workflow-event-bindings/ml"] = {"items": None}
    assert examined()[0]["objects"] == "ok"


def test_a_kubectl_that_cannot_is_no_failure(server, kubectl):  # noqa: ARG001
    kubectl("noise\nerror: no configuration has been provided\n", code=1)
    states, messages = examined()
    assert states["objects"] == "unknown"
    assert "error: no configuration has been provided" in messages["objects"]


def test_without_kubectl_that_is_told(server):  # noqa: ARG001
    states, messages = examined()
    assert states["objects"] == "unknown"
    assert "there is no kubectl here" in messages["objects"]
