"""A model store, and registries of a real MLflow to publish to: on sqlite, and a server before S3, troubled or not."""

import http.server
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import objectstore
import pytest
import torch

from argosy.steps import exported_model, files
from argosy.steps.gates import Answer, Verdict
from argosy.steps.publish.client import connected
from argosy.steps.registry import PublishInput
from argosy.steps.train.export import export

PARAMETERS = [{"name": "learning-rate", "value": "0.01"}, {"name": "note", "value": 'json:"a{\\u007bb"'}]
TASK = "argosy.steps.digits:Digits"


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """A model store with an exported model in `run/model`, and others beside it that differ in their weights."""
    store = tmp_path_factory.mktemp("models")
    for seed, run in enumerate(["run", "other"]):
        (store / run).mkdir()
        torch.manual_seed(seed)
        model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10))
        about = {"task": TASK, "hyperparameters": {}, "training": {"loss": 0.125, "steps": 400}}
        export(model, torch.zeros(1, 8, 8), store / run / "model", **about)
    return store


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory):
    """A database with MLflow's tables: making them takes seconds."""
    path = tmp_path_factory.mktemp("registry") / "mlflow.db"
    with connected(f"sqlite:///{path}") as client:
        client.search_registered_models()
        client.search_experiments()
    return path


@pytest.fixture(scope="session")
def verdict():
    """A gate's verdict."""

    def made(gate, answer=Answer.PASS, **changes):
        fields = {
            "metric": "accuracy",
            "estimate": 0.97,
            "bound": 0.95,
            "threshold": 0.9,
            "margin": 0.05,
            "confidence": 0.95,
            "samples": 360,
            "reason": f"accuracy 0.97 {answer}",
        }
        return Verdict(gate=gate, answer=answer, **fields | changes)

    return made


@pytest.fixture
def fresh(models, tmp_path, verdict):
    """Inputs of a publish step whose registry does not exist yet."""

    def inputs(uid="uid-1", **changes):
        store, model = changes.get("models", models), changes.get("model", "run/model")
        fields = {
            "output": tmp_path / "out",
            "registry": "digits",
            "alias": "champion",
            "tracking_uri": f"sqlite:///{tmp_path}/registry/mlflow.db",
            "folder": tmp_path / "registry",
            "models": store,
            "model": model,
            "model_hash": files.sha256(store / model / exported_model.PROGRAM),
            "run": f"digits-{uid}",
            "run_uid": uid,
            "revision": "c0ffee",
            "dataset": "data/digits",
            "dataset_hash": "0" * 32 + ".dir",
            "task": TASK,
            "image": "registry.example.org/argosy@sha256:1",
            "parameters": json.dumps(PARAMETERS),
            "verdicts": {"accuracy-gate": verdict("accuracy-gate")},
        }
        return PublishInput(**fields | changes)

    return inputs


@pytest.fixture
def inputs(fresh, empty_database, tmp_path):
    """Inputs of a publish step whose registry is there and empty."""
    (tmp_path / "registry").mkdir()
    shutil.copy(empty_database, tmp_path / "registry/mlflow.db")
    return fresh


@pytest.fixture
def mlflow_client(inputs):
    with connected(inputs().tracking_uri) as client:
        yield client


# ---------------------------------------------------------------------------------------------- servers


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@pytest.fixture(scope="session")
def bucket(tmp_path_factory):
    """An S3 server and a bucket's folder for MLflow's files."""
    if why := objectstore.missing():
        pytest.skip(f"an MLflow server before S3 was not tested: {why}")
    folder = tmp_path_factory.mktemp("buckets")
    (folder / "mlflow").mkdir()
    with objectstore.serving(folder) as store:
        yield store, folder / "mlflow"


@pytest.fixture(scope="session")
def server(bucket, empty_database, tmp_path_factory):
    """Address of a real MLflow server that keeps its files in S3."""
    folder = tmp_path_factory.mktemp("server")
    shutil.copy(empty_database, folder / "mlflow.db")
    address = f"http://127.0.0.1:{(port := free_port())}"
    words = [sys.executable, "-m", "mlflow", "server", "--host=127.0.0.1", f"--port={port}", "--workers=1"]
    words += [f"--backend-store-uri=sqlite:///{folder}/mlflow.db", "--artifacts-destination=s3://mlflow"]
    environment = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_S3_ENDPOINT_URL": bucket[0].address}
    with (folder / "log").open("w") as log:
        env = os.environ | bucket[0].environment | environment
        process = subprocess.Popen([*words, "--allowed-hosts=*"], env=env, stdout=log, stderr=log, process_group=0)
    try:
        while not answers(f"{address}/health"):
            assert process.poll() is None, (folder / "log").read_text()
            time.sleep(0.2)  # it tells nobody that it is up
        yield address
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()


def answers(address):
    try:
        return urllib.request.urlopen(address, timeout=60).status == 200
    except OSError:
        return False


class Trouble:
    """A proxy before a server that does some requests late, twice, not at all, or without an answer."""

    KINDS = ("late", "twice", "refused", "unanswered")

    def __init__(self, server, share, seed):
        self.server, self.share = server, share
        self.chance, self.lock = random.Random(seed), threading.Lock()
        self.count = dict.fromkeys(self.KINDS, 0)
        self.late = []

    def kind(self):
        with self.lock:
            if self.chance.random() >= self.share:
                return ""
            kind = self.chance.choice(self.KINDS)
            self.count[kind] += 1
            return kind

    def forward(self, method, path, headers, body):
        request = urllib.request.Request(self.server + path, data=body, method=method, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=300) as answer:
                return answer.status, dict(answer.headers), answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, dict(error.headers), error.read()

    def drain(self):
        """Returns when no request is on its way any more, and makes no more trouble."""
        self.share = 0
        for thread in self.late:
            thread.join()


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self):
        trouble = self.server.trouble
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))) or None
        headers = {name: text for name, text in self.headers.items() if name.lower() not in HOP}
        words = (self.command, self.path, headers, body)
        kind = trouble.kind()
        if kind == "late":
            timer = threading.Timer(1, trouble.forward, words)
            trouble.late.append(timer)
            timer.start()
        if kind == "refused":
            self.say(503, {}, b"{}")
        if kind in {"late", "refused"}:
            self.close_connection = True
            return
        status, given, content = trouble.forward(*words)
        if kind == "twice":
            status, given, content = trouble.forward(*words)
        if kind == "unanswered":
            self.close_connection = True
            return
        self.say(status, given, content)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = answer  # noqa: N815 - http.server's names

    def say(self, status, headers, content):
        self.send_response(status)
        for name, text in headers.items():
            if name.lower() not in HOP:
                self.send_header(name, text)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_words):
        """Says nothing."""


HOP = {"connection", "content-length", "transfer-encoding", "host", "date", "server"}


@pytest.fixture
def troubled(server):
    """A proxy before the server, `(address, trouble)`."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as proxy:
        proxy.trouble = Trouble(server, 0.2, seed=7)
        thread = threading.Thread(target=proxy.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{proxy.server_port}", proxy.trouble
        proxy.trouble.drain()
        proxy.shutdown()
        thread.join()
