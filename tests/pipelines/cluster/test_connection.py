"""How a cluster is found, and what is told where it cannot be used: one line, with the remedy, without a secret."""

import re
import ssl
import subprocess
import threading

import pytest
from fakeargo import NAMESPACE, TOKEN, resets

from argosy.pipelines.cluster.connection import connection
from argosy.pipelines.cluster.errors import ClusterError, LostError, MissingError
from argosy.pipelines.cluster.server import ArgoServer
from argosy.pipelines.cluster.session import Patience

QUICK = Patience(connect=2, answer=2, again=0)
PROFILE = """
[tool.argosy.clusters.lab]
server = "https://argo.lab.example"
namespace = "vision"
token-env = "LAB_TOKEN"
"""
KUBECONFIG = """
current-context: here
contexts:
- {name: other, context: {user: nobody, namespace: wrong}}
- {name: here, context: {user: dev, namespace: from-kubeconfig, cluster: c}}
users:
- {name: nobody, user: {token: wrong}}
- {name: dev, user: {USER}}
"""


@pytest.fixture
def found(tmp_path):
    """`found(pyproject, name, **environment)` is the connection."""

    def find(pyproject="", name=None, **environment):
        (tmp_path / "pyproject.toml").write_text(pyproject)
        return connection(name, tmp_path, {"KUBECONFIG": str(tmp_path / "kubeconfig"), **environment})

    return find


def test_the_environment_counts_before_the_profile_and_that_before_kubeconfig(found, tmp_path):
    (tmp_path / "kubeconfig").write_text(KUBECONFIG.replace("{USER}", "{token: from-kubeconfig}"))
    only = found(ARGO_SERVER="argo.example:2746")
    assert (only.url, only.namespace) == ("https://argo.example:2746/", "from-kubeconfig")
    assert (only.token, only.token_from) == ("Bearer from-kubeconfig", "kubeconfig's user dev")
    profile = found(PROFILE, LAB_TOKEN="t")
    assert (profile.url, profile.namespace, profile.token) == ("https://argo.lab.example/", "vision", "Bearer t")
    both = found(PROFILE, ARGO_SERVER="argo.example:2746", ARGO_NAMESPACE="mine", ARGO_TOKEN="Bearer v2:sso")
    assert (both.url, both.namespace, both.token) == ("https://argo.example:2746/", "mine", "Bearer v2:sso")


def test_a_token_comes_from_a_file_or_a_plugin_of_kubeconfig_too(found, tmp_path):
    (tmp_path / "token").write_text("from-file\n")
    (tmp_path / "kubeconfig").write_text(KUBECONFIG.replace("{USER}", "{tokenFile: token}"))
    assert found(ARGO_SERVER="a:1").token == "Bearer from-file"
    plugin = """{exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, env: [{name: X, value: plugged}],
        args: [-c, 'echo "{\\"status\\": {\\"token\\": \\"$X\\"}}"']}}"""
    (tmp_path / "kubeconfig").write_text(KUBECONFIG.replace("{USER}", plugin))
    assert found(ARGO_SERVER="a:1").token == "Bearer plugged"
    (tmp_path / "kubeconfig").write_text(KUBECONFIG.replace("{USER}", "{exec: {command: no-such-plugin}}"))
    with pytest.raises(ClusterError, match="no-such-plugin gives no token for user dev"):
        found(ARGO_SERVER="a:1")


def test_argos_own_variables_say_how_the_server_is_reached(found):
    plain = found(ARGO_SERVER="argo.example:2746", ARGO_SECURE="false", ARGO_BASE_HREF="/argo/")
    assert (plain.url, plain.verify) == ("http://argo.example:2746/argo/", True)
    assert found(ARGO_SERVER="a:1", ARGO_INSECURE_SKIP_VERIFY="true").verify is False
    assert found(ARGO_SERVER="https://a:1", SSL_CERT_FILE="/ca.pem").verify == "/ca.pem"


def test_a_token_meant_for_one_cluster_is_not_sent_to_another(found):
    assert found(PROFILE, LAB_TOKEN="lab", ARGO_TOKEN="other").token == "Bearer lab"
    with pytest.raises(ClusterError, match="LAB_TOKEN is not set, and holds the token of https://argo"):
        found(PROFILE, ARGO_TOKEN="other")


TWO = PROFILE + '[tool.argosy.clusters.prod]\nserver = "https://argo.prod.example"\n'
MISTAKES = {
    "none": ("", None, {}, "no cluster is known; write [tool.argosy.clusters.NAME] with server = "),
    "two": (TWO, None, {}, "pyproject.toml: names several clusters; choose one with -c lab or -c prod"),
    "unknown name": (TWO, "prodd", {}, "has no cluster 'prodd'; did you mean prod?"),
    "unknown key": (
        PROFILE + "tokenenv = 'X'",
        None,
        {},
        "clusters.lab]: 'tokenenv' is no key; did you mean token-env?",
    ),
    "wrong type": ("[tool.argosy.clusters.lab]\nserver = 3", None, {}, "clusters.lab]: server = 3 is no text; write"),
    "no server": ("[tool.argosy.clusters.lab]\nnamespace = 'x'", None, {}, "has no server; write server = "),
    "no table": ("[tool.argosy]\nclusters = 3", None, {}, "tool.argosy.clusters: 3 is no table; write"),
    "no TOML": ("[tool", None, {}, "pyproject.toml: is no TOML: "),
    "no such CA": (PROFILE + "ca = 'ca.pem'", None, {"LAB_TOKEN": "t"}, "ca = 'ca.pem': there is no file"),
    "no address": ("", None, {"ARGO_SERVER": "a:b:c"}, "'a:b:c' is no address; write https://HOST:PORT"),
    "credentials": ("", None, {"ARGO_SERVER": "https://x:secret@a:1"}, "holds credentials; write https://HOST:PORT"),
    "a page's address": ("", None, {"ARGO_SERVER": "https://a/?x=1"}, "'https://a/?x=1' is no address; write"),
    "a space": ("", None, {"ARGO_SERVER": " "}, "' ' is no address; write"),
    "no namespace": ("", None, {"ARGO_SERVER": "a:1", "ARGO_NAMESPACE": "a/../b?x=1"}, "'a/../b?x=1' is no namespace"),
    "two servers": (TWO, "lab", {"ARGO_SERVER": "x:1"}, "ARGO_SERVER is x:1, and cluster 'lab' is https://argo.lab"),
}


@pytest.mark.parametrize(("pyproject", "name", "environment", "told"), MISTAKES.values(), ids=MISTAKES)
def test_a_wrong_profile_is_told_with_its_file_and_key(found, pyproject, name, environment, told):
    with pytest.raises(ClusterError, match=re.escape(told)) as raised:
        found(pyproject, name, **environment)
    assert "\n" not in str(raised.value)
    assert "secret" not in str(raised.value)


BROKEN = {
    "a list": "- x",
    "contexts": "{current-context: here, contexts: x}",
    "a context": "{current-context: here, contexts: [{name: here, context: x}]}",
    "a user": KUBECONFIG.replace("{USER}", "secret"),
    "a plugin": KUBECONFIG.replace("{USER}", "{exec: {command: x, env: [{secret: y}]}}"),
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_a_broken_kubeconfig_is_told_with_its_file(found, tmp_path, text):
    (tmp_path / "kubeconfig").write_text(text)
    with pytest.raises(ClusterError, match=r"/kubeconfig: .*; KUBECONFIG names the file") as raised:
        found(ARGO_SERVER="a:1")
    assert "secret" not in str(raised.value)


def test_a_kubeconfig_that_kubectl_has_emptied_says_nothing(found, tmp_path):
    (tmp_path / "kubeconfig").write_text("{apiVersion: v1, contexts: null, current-context: '', users: null}")
    only = found(ARGO_SERVER="a:1")
    assert (only.namespace, only.token) == ("default", "")


def test_a_token_file_that_is_no_text_is_told(found, tmp_path):
    (tmp_path / "token").write_bytes(b"\xff\xfe")
    (tmp_path / "kubeconfig").write_text(KUBECONFIG.replace("{USER}", "{tokenFile: token}"))
    with pytest.raises(ClusterError, match="kubeconfig's user dev holds no token"):
        found(ARGO_SERVER="a:1")


@pytest.mark.parametrize("token", ["secret-a secret-b", "secret\r\nX-Header: 1", "Digest secret", "sécret"])
def test_a_token_that_is_none_is_refused_and_not_told(found, token):
    with pytest.raises(ClusterError, match="ARGO_TOKEN holds no token") as raised:
        found(ARGO_SERVER="a:1", ARGO_TOKEN=token)
    assert "secret" not in str(raised.value)


# ---------------------------------------------------------------------------------------------- the way to the server


def server(**environment):
    from pathlib import Path

    return ArgoServer(connection(None, Path.cwd(), environment), QUICK)


def lines_of(error):
    assert "secret" not in str(error.value)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_wrong_token_is_told_with_where_it_came_from(argo, project):
    wrong = server(ARGO_SERVER=argo.address, ARGO_SECURE="false", ARGO_NAMESPACE=NAMESPACE, ARGO_TOKEN="other-secret")
    with pytest.raises(ClusterError) as raised:
        wrong.names()
    assert "token not valid; the token is from ARGO_TOKEN; set ARGO_TOKEN to one that is valid" in lines_of(raised)
    assert project.exists()


def test_a_wrong_namespace_is_told_in_argos_words_with_its_variable(argo):
    wrong = server(ARGO_SERVER=argo.address, ARGO_SECURE="false", ARGO_NAMESPACE="other", ARGO_TOKEN=TOKEN)
    with pytest.raises(ClusterError) as raised:
        wrong.names()
    assert 'cannot list in namespace "other"; ARGO_NAMESPACE names another namespace than other' in lines_of(raised)


def test_a_refused_connection_is_told_with_the_address_that_was_tried(connected, argo):
    argo.stop()
    with pytest.raises(LostError) as raised:
        connected.names()
    assert f"{argo.address}/: no answer (Connection refused); is it running" in lines_of(raised)


def test_a_connection_that_is_reset_is_told_by_its_cause(connected, argo):
    argo.faults["list"].append(resets)
    with pytest.raises(LostError) as raised:
        connected.names()
    assert f"{argo.address}/: no answer (Connection reset by peer); is it running" in lines_of(raised)


@pytest.mark.filterwarnings("ignore:The `json` method is deprecated")  # Hera's service uses it
def test_a_server_that_leads_elsewhere_is_told_with_where_to(connected, argo):
    def redirects(handler):
        handler.send_response(302)
        handler.send_header("Location", "https://argo.example.org/login?state=secret")
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    argo.faults["create"].append(redirects)
    with pytest.raises(ClusterError) as raised:
        connected.create({"metadata": {"name": "x"}})
    assert not isinstance(raised.value, LostError)
    assert "leads elsewhere, to https://argo.example.org; ARGO_SERVER or the profile" in lines_of(raised)
    assert [one.kind for one in argo.asked] == ["create"]


@pytest.mark.parametrize("answer", [b"<html>sign in</html>", b"[]", b"", b"\xff\xfe"])
def test_an_answer_that_is_no_json_is_told_as_such(connected, argo, answer):
    argo.faults["list"].append(lambda handler: handler.say(200, answer))
    with pytest.raises(ClusterError) as raised:
        connected.names()
    assert "answers 200 OK with something that is no JSON; is this Argo server's address?" in lines_of(raised)


def test_a_server_that_says_nothing_is_given_up(connected, argo):
    gone = threading.Event()
    argo.faults["list"].append(lambda _: gone.wait(30))
    with pytest.raises(LostError, match="no answer"):
        connected.names()
    gone.set()


def test_a_name_cannot_lead_elsewhere(connected, argo):
    for name in ("../../userinfo", "a/stop", "x?y=z", "ü", "@latest", ""):
        with pytest.raises(MissingError):
            connected.workflow(name)
    assert argo.asked == []


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate that has signed itself, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    key, pem = folder / "key.pem", folder / "cert.pem"
    words = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", pem, *words]
    subprocess.run(make, check=True, capture_output=True)
    return pem, key


@pytest.fixture
def secured(argo, certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    argo._server.socket = context.wrap_socket(argo._server.socket, server_side=True)
    return {"ARGO_SERVER": argo.address, "ARGO_NAMESPACE": NAMESPACE, "ARGO_TOKEN": TOKEN}


def test_a_certificate_is_verified_by_the_profiles_ca_or_by_the_environments(secured, certificate, tmp_path):
    assert server(**secured, SSL_CERT_FILE=str(certificate[0])).names() == []
    assert server(**secured, ARGO_INSECURE_SKIP_VERIFY="true").names() == []
    address = f'server = "https://{secured.pop("ARGO_SERVER")}"\nca = "{certificate[0]}"\n'
    (tmp_path / "pyproject.toml").write_text(f"[tool.argosy.clusters.lab]\n{address}")
    assert ArgoServer(connection("lab", tmp_path, secured), QUICK).names() == []


def test_a_certificate_of_another_ca_is_told_with_the_remedy(secured):
    with pytest.raises(ClusterError) as raised:
        server(**secured).names()
    assert "is not trusted (self-signed certificate)" in lines_of(raised)
    assert "name its CA's file as `ca` in the cluster's profile, or in SSL_CERT_FILE" in lines_of(raised)


def test_a_ca_file_that_holds_none_is_told(secured, tmp_path):
    (tmp_path / "ca.pem").write_text("no certificate")
    with pytest.raises(ClusterError, match="SSL_CERT_FILE"):
        server(**secured, SSL_CERT_FILE=str(tmp_path / "ca.pem")).names()
    with pytest.raises(ClusterError, match="SSL_CERT_FILE"):
        server(**secured, SSL_CERT_FILE="/no/such/file").names()


def test_https_to_a_server_that_speaks_http_is_told(argo):
    with pytest.raises(ClusterError) as raised:
        server(ARGO_SERVER=argo.address, ARGO_NAMESPACE=NAMESPACE, ARGO_TOKEN=TOKEN).names()
    assert "ARGO_SECURE" in lines_of(raised)


def test_no_password_of_netrc_takes_the_tokens_place(connected, argo, tmp_path, monkeypatch):
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login x password y\n")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    connected.names()
    assert argo.asked[0].headers["Authorization"] == TOKEN
