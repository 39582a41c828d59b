"""The reference pipeline with its code fetched from git, on this machine: the same manifest as anywhere."""

import http.server
import subprocess
import threading
from functools import partial

import pytest

pytestmark = pytest.mark.timeout(600)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def served(tmp_path):
    """A folder, and its address on this machine. Not file://, since a pod has a /tmp of its own."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield folder, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def pushed(digits, served):
    """The digits project whose pipeline fetches its code from a bare repository, and which is pushed there."""
    folder, address = served
    bare = folder / "digits.git"
    (digits.path / ".gitignore").write_text(".argosy/\ndvc-remote\nelsewhere\n")
    definition = digits.path / "pipelines/digits.py"
    text = definition.read_text().replace('image="argosy', f'code=Git("{address}/digits.git"),\n    image="argosy')
    definition.write_text(text.replace("Dataset, Latency", "Dataset, Git, Latency"))
    config = digits.path / ".dvc/config"
    config.write_text(config.read_text().replace("../dvc-remote", str((digits.path / "dvc-remote").resolve())))
    identity = ["-c", "user.name=Test", "-c", "user.email=test@localhost"]
    for words in (
        ["add", "--all"],
        [*identity, "commit", "-qm", "Code from git"],
        ["init", "-q", "--bare", str(bare)],
        ["push", "-q", str(bare), "HEAD:main"],
        ["-C", str(bare), "update-server-info"],
    ):
        subprocess.run(["git", *words], cwd=digits.path, check=True)
    return digits


def test_code_and_data_are_those_of_the_pushed_commit(pushed):
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=pushed.path, capture_output=True, text=True, check=True)
    run = pushed.json("run", "digits", "-p", "epochs=10")
    assert run["phase"] == "Succeeded"
    for step in ("stage", "train", "accuracy-gate"):
        (pod,) = pushed.run.pods.glob(f"*-{step}-*")
        fetched = pod / "volumes/project"
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=fetched, capture_output=True, text=True, check=True)
        assert head.stdout == commit.stdout
        assert (fetched / "dvc.lock").read_bytes() == (pushed.path / "dvc.lock").read_bytes()
    assert not list(pushed.run.pods.glob("*-publish-*/volumes/project"))
    (version,) = pushed.versions()
    assert version.tags["argosy.revision"] == commit.stdout.strip()


def test_changes_that_were_not_committed_are_refused_with_the_remedy(pushed):
    (pushed.path / "dvc.yaml").write_text((pushed.path / "dvc.yaml").read_text() + "\n")
    run = pushed.json("run", "digits", code=1)
    (stage,) = [step for step in run["steps"] if step["name"] == "stage"]
    assert stage["message"].startswith("fetch-code: Error (exit code 78): revision ")
    assert "commit, push, and give that commit" in stage["message"]
