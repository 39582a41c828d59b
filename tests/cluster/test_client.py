"""argosy's commands against a real Argo: one run, shown, followed over a lost connection, read, stopped and retried."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import uuid
from pathlib import Path
from urllib.parse import urlsplit

import pytest

ARGOSY = Path(sys.executable).with_name("argosy")
VALUES = {"word": "it's {{workflow.name}}\nünïcode \U0001f680", "shell": "$(touch /tmp/p); '"}
MANIFEST = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {generateName: client-, labels: {argosy/pipeline: client}}
spec:
  serviceAccountName: argosy-steps
  entrypoint: main
  onExit: farewell
  arguments: {parameters: [{name: word, value: x}, {name: shell, value: x}, {name: seconds, value: "SECONDS"}]}
  templates:
  - name: main
    dag:
      tasks:
      - {name: say, template: say}
      - {name: fail, template: fail, depends: say}
  - name: say
    archiveLocation: {archiveLogs: true}
    initContainers: [{name: prepare, image: IMAGE, command: [python3, -c, "print('prepared')"]}]
    container:
      image: IMAGE
      command:
      - python3
      - -c
      - import json, sys, time; print(json.dumps(sys.argv[1:]), flush=True); time.sleep(float(sys.argv[3]))
      - "{{workflow.parameters.word}}"
      - "{{workflow.parameters.shell}}"
      - "{{workflow.parameters.seconds}}"
  - name: fail
    retryStrategy: {limit: 1}
    container: {image: IMAGE, command: [python3, -c, "print('last words'); exit(7)"]}
  - name: farewell
    container: {image: IMAGE, command: [python3, -c, "print('farewell')"]}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory, cluster):
    """A project whose manifest no run was made of yet."""
    folder = tmp_path_factory.mktemp("client")
    (folder / "pyproject.toml").touch()
    seconds = f"3.{uuid.uuid4().int % 10**9}"
    (folder / "client.yaml").write_text(MANIFEST.replace("IMAGE", cluster.small_image).replace("SECONDS", seconds))
    return folder


@pytest.fixture(scope="module")
def name(cluster, folder):
    """A run, submitted twice at once."""
    words = [word for key, value in VALUES.items() for word in ("-p", f"{key}={value}")]
    both = [
        subprocess.Popen(
            [ARGOSY, "submit", "client.yaml", "--json", *words],
            cwd=folder,
            env=os.environ | cluster.environment,
            stdout=subprocess.PIPE,
        )
        for _ in range(2)
    ]
    told = [json.loads(one.communicate()[0]) for one in both]
    assert sorted(one["created"] for one in told) == [False, True]
    assert len({one["name"] for one in told}) == 1
    yield told[0]["name"]
    cluster.kubectl("delete", "workflow", "-n", cluster.namespace, told[0]["name"], "--wait=false")


@pytest.fixture(scope="module")
def ended(cluster, folder, name):
    """The run, at its end, which was watched through a connection that was cut while its first pod ran."""
    with Proxy(cluster.argo_server) as proxy:
        environment = cluster.environment | {"ARGO_SERVER": proxy.address}
        words = [ARGOSY, "watch", name]
        with subprocess.Popen(
            words, cwd=folder, env=os.environ | environment, stdout=subprocess.PIPE, text=True
        ) as process:
            lines = []
            for line in process.stdout:
                lines.append(line)
                if line.endswith("say: running\n"):
                    proxy.cut()
                if line.endswith("connection lost, trying again\n"):
                    proxy.mend()
    return name, "".join(lines), process.returncode


class Proxy:
    """Stands before a server, and can be gone for a while."""

    def __init__(self, url):
        parts = urlsplit(url)
        assert parts.scheme == "http", "a server behind TLS is not looked for behind another address"
        self._target = (parts.hostname, parts.port)
        self._open = []
        self._port = 0
        self.mend()

    address = property(lambda self: f"127.0.0.1:{self._port}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.cut()

    def mend(self):
        self._listener = socket.create_server(("127.0.0.1", self._port))
        self._port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def cut(self):
        for one in (self._listener, *self._open):
            with contextlib.suppress(OSError):  # it is closed already
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        self._open.clear()

    def _accept(self, listener):
        with contextlib.suppress(OSError):  # it was cut
            while True:
                ours = listener.accept()[0]
                theirs = socket.create_connection(self._target)
                self._open += [ours, theirs]
                for pair in ((ours, theirs), (theirs, ours)):
                    threading.Thread(target=self._pump, args=pair, daemon=True).start()

    def _pump(self, source, sink):
        with contextlib.suppress(OSError):  # it was cut
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)


def test_a_run_is_followed_to_its_end_over_a_lost_connection(ended):
    _, told, code = ended
    assert code == 1, told
    lines = [line.strip().partition("s  ")[2].split(" in ")[0] for line in told.splitlines() if "  " in line]
    first = [line for line in lines if line.startswith(("say", "connection", "fail"))]
    assert first[:3] == ["say: running", "connection lost, trying again", "say: succeeded"]
    assert "fail: failed, main: Error (exit code 7)" in first
    assert "exit handler: succeeded" in lines
    assert "    last words\n" in told


def test_values_arrive_in_the_pod_as_they_were_given(cluster, folder, ended):
    from argosy.steps import values

    arrived = json.loads(cluster.argosy(folder, "logs", ended[0], "say", "-c").splitlines()[-1])
    assert [values.decode(text, str) for text in arrived[:2]] == list(VALUES.values())


def test_logs_name_steps_and_attempts_and_tell_what_init_containers_printed(cluster, folder, ended):
    lines = cluster.argosy(folder, "logs", ended[0], "-c").splitlines()
    assert lines[0] == "say | prepared"
    assert [line for line in lines if "last words" in line] == [f"fail attempt {n} | last words" for n in (1, 2)]
    assert "exit handler | farewell" in lines
    assert not [line for line in lines if "argo=true" in line]
    follow = [line for line in cluster.argosy(folder, "logs", ended[0], "-f", "-c").splitlines() if "farewell" in line]
    assert follow == ["exit handler | farewell"]


def test_a_run_is_shown_and_listed_as_a_local_one(cluster, folder, ended):
    name = ended[0]
    told = cluster.argosy(folder, "show", name, "-c")
    assert told.startswith(f"✖ {name} failed after ")
    assert f"/workflows/{cluster.namespace}/{name}\n" in told
    listed = cluster.argosy(folder, "runs", "-c").splitlines()
    assert any(line.startswith(name) and line.endswith("fail: main: Error (exit code 7)") for line in listed)
    assert json.loads(cluster.argosy(folder, "show", name, "-c", "--json")) == cluster.workflow(name)


def test_logs_of_a_pod_that_is_gone_come_from_the_archive_or_say_so(cluster, folder, ended):
    selector = f"workflows.argoproj.io/workflow={ended[0]}"
    cluster.kubectl("delete", "pod", "-n", cluster.namespace, "-l", selector)
    lines = cluster.argosy(folder, "logs", ended[0], "-c").splitlines()
    assert lines[0].startswith("say | [")
    assert lines[1:] == [
        "fail attempt 1: logs unavailable: pod deleted",
        "fail attempt 2: logs unavailable: pod deleted",
        "exit handler: logs unavailable: pod deleted",
    ]


def test_retry_keeps_what_succeeded_and_runs_again_what_failed(cluster, folder, ended):
    before = started(cluster, ended[0])
    told = cluster.argosy(folder, "retry", ended[0], "-c", code=1)
    after = started(cluster, ended[0])
    assert told.startswith(f"retrying {ended[0]}\n")
    assert after["say"] == before["say"]
    assert after["fail(0)"] > before["fail(0)"]


def started(cluster, name):
    return {node["displayName"]: node["startedAt"] for node in cluster.workflow(name)["status"]["nodes"].values()}


@pytest.fixture
def going_on(cluster, folder):
    """The name of a run that would go on for an hour."""
    words = ["-p", "seconds=3600", "-p", f"word={uuid.uuid4()}"]
    name = json.loads(cluster.argosy(folder, "submit", "client.yaml", "--json", *words))["name"]
    yield name
    cluster.kubectl("delete", "workflow", "-n", cluster.namespace, name, "--wait=false", "--ignore-not-found")


def test_stop_is_confirmed_lets_the_exit_handler_run_and_may_be_repeated(cluster, folder, going_on):
    told = cluster.argosy(folder, "stop", going_on, "-c")
    assert told.startswith(f"stopping {going_on}; its pods end first\n\n✖ {going_on} failed")
    assert "exit handler  succeeded" in told
    assert cluster.workflow(going_on)["status"]["message"] == "Stopped with strategy 'Stop'"
    assert cluster.argosy(folder, "stop", going_on, "-c").startswith(f"run {going_on} is over already\n")


def test_a_run_that_is_deleted_ends_its_watch_with_one_line(cluster, folder, going_on):
    words = [ARGOSY, "watch", going_on]
    with subprocess.Popen(
        words, cwd=folder, env=os.environ | cluster.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        cluster.kubectl("delete", "workflow", "-n", cluster.namespace, going_on, "--wait=false")
        said = process.stderr.read().decode()
    assert process.returncode == 2
    assert said.count("\n") == 1
    assert going_on in said


def test_what_argo_says_of_a_manifest_is_told(cluster, folder):
    text = (folder / "client.yaml").read_text().replace("depends: say", "depends: sya")
    done = run(cluster, folder, "submit", "-", stdin=text)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"argosy: {cluster.argo_server}/: templates.main sorting failed: invalid dependency sya\n"


def test_a_wrong_token_is_told_in_one_line_that_does_not_hold_it(cluster, folder):
    done = run(cluster, folder, "runs", "-c", ARGO_TOKEN="Bearer planted-secret")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "ARGO_TOKEN" in done.stderr
    assert "planted-secret" not in done.stderr


def test_a_namespace_that_is_not_there_is_told(cluster, folder):
    done = run(cluster, folder, "submit", "client.yaml", ARGO_NAMESPACE="no-such-namespace")
    assert done.returncode == 2
    assert 'namespaces "no-such-namespace" not found' in done.stderr
    assert "ARGO_NAMESPACE" in done.stderr


def run(cluster, folder, *words, stdin=None, **environment):
    return subprocess.run(
        [ARGOSY, *words], cwd=folder, env=os.environ | cluster.environment | environment, input=stdin,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
