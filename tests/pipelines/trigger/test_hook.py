"""The post-receive hook as `argosy trigger hook` prints it: real pushes to a real bare repository, a server that checks
each signature by itself.
"""

import hashlib
import hmac
import json
import os
import re
import socket
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

SECRET = 'f00d it\'s "quoted"'
LIMIT = 2 << 20
"""Bytes that Argo's server takes."""


class Server:
    """Takes webhooks; `answers` are the statuses of the next ones, then it is 200."""

    def __init__(self):
        self.answers = []
        self.message = ""
        self.taken = []
        self.headers = []
        self.signed = []
        self.paths = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                wanted = "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
                outer.signed.append(self.headers["X-Hub-Signature-256"] == wanted)
                outer.headers.append(self.headers)
                outer.paths.append(self.path)
                status = outer.answers.pop(0) if outer.answers else 200
                if status == 200:
                    assert len(body) <= LIMIT
                    outer.taken.append(json.loads(body))
                self.send_response(status)
                self.send_header("Location", "/elsewhere")
                self.end_headers()
                if status >= 400:
                    self.wfile.write(json.dumps({"code": 13, "message": outer.message}).encode())

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


@pytest.fixture
def server():
    made = Server()
    yield made
    made.http.shutdown()
    made.http.server_close()


def git(folder, *words, **options):
    environment = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.environ["PATH"], "HOME": "/"}
    names = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in NAMES.items()}
    done = subprocess.run(
        ["git", *words], cwd=folder, env=environment | names, capture_output=True, check=True, timeout=60, **options
    )
    return (done.stdout + done.stderr).decode(errors="replace")


NAMES = {"NAME": "Ada Lovelace", "EMAIL": "ada@example.org"}


@pytest.fixture
def bare(tmp_path, argosy, server):
    """A bare repository with the hook."""
    folder = tmp_path / "digits.git"
    git(tmp_path, "init", "--bare", "--quiet", str(folder))
    hook = folder / "hooks" / "post-receive"
    hook.write_text(argosy("trigger", "hook").stdout)
    hook.chmod(0o755)
    (tmp_path / "secret").write_text(SECRET + "\n")
    for key, value in {"server": server.url, "namespace": "vision", "secretFile": str(tmp_path / "secret")}.items():
        git(folder, "config", f"argosy.{key}", value)
    return folder


@pytest.fixture
def work(tmp_path, bare):
    """A clone with one commit on main, not yet pushed."""
    folder = tmp_path / "work"
    git(tmp_path, "init", "--quiet", "--initial-branch=main", str(folder))
    git(folder, "remote", "add", "origin", str(bare))
    committed(folder, {"dvc.lock": "1", "README.md": "x"}, "First\n\nmore")
    return folder


def committed(folder, files, message):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--file=-", input=message.encode())
    return git(folder, "rev-parse", "HEAD").strip()


def push(folder, *words):
    return git(folder, "push", "--quiet", "origin", *words)


def test_a_push_is_told_as_github_would(server, bare, work):
    head = git(work, "rev-parse", "HEAD").strip()
    told = push(work, "main")
    assert f"argosy: main: told Argo; pipelines that listen to it run as NAME-{head[:12]}" in told
    assert server.signed == [True]
    assert server.paths == ["/api/v1/events/vision/push"]
    assert server.headers[0]["X-GitHub-Event"] == "push"
    assert server.headers[0]["X-GitHub-Delivery"]
    (payload,) = server.taken
    assert payload["ref"] == "refs/heads/main"
    assert payload["after"] == payload["head_commit"]["id"] == head
    assert (payload["created"], payload["deleted"], payload["forced"]) == (True, False, False)
    assert payload["repository"]["full_name"] == "digits"
    (commit,) = payload["commits"]
    assert commit["message"] == "First\n\nmore"
    assert commit["author"] == {"name": "Ada Lovelace", "email": "ada@example.org"}
    assert (commit["added"], commit["modified"], commit["removed"]) == (["README.md", "dvc.lock"], [], [])
    assert bare.name == "digits.git"


def test_each_commit_of_a_push_has_its_own_paths(server, work):
    push(work, "main")
    committed(work, {'a b/ü\n".txt': "1", "dvc.lock": "2"}, "Second")
    git(work, "rm", "--quiet", "README.md")
    committed(work, {}, "Third")
    committed(work, {}, "Nothing")
    push(work, "main")
    found = [(one["message"], one["added"], one["modified"], one["removed"]) for one in server.taken[-1]["commits"]]
    assert found == [
        ("Second", ['a b/ü\n".txt'], ["dvc.lock"], []),
        ("Third", [], [], ["README.md"]),
        ("Nothing", [], [], []),
    ]


def test_a_merge_brings_the_paths_of_both_sides(server, work):
    push(work, "main")
    git(work, "checkout", "--quiet", "-b", "side")
    committed(work, {"side.txt": "1"}, "Side")
    git(work, "checkout", "--quiet", "main")
    committed(work, {"main.txt": "1"}, "Main")
    git(work, "merge", "--quiet", "--no-ff", "-m", "Merge", "side")
    push(work, "main")
    commits = server.taken[-1]["commits"]
    assert {one["message"] for one in commits} == {"Side", "Main", "Merge"}
    assert commits[-1]["added"] == ["side.txt"]


def test_a_forced_push_says_so_and_lists_what_is_new(server, work):
    push(work, "main")
    git(work, "commit", "--quiet", "--amend", "-m", "Rewritten")
    push(work, "--force", "main")
    assert server.taken[-1]["forced"] is True
    assert [one["message"] for one in server.taken[-1]["commits"]] == ["Rewritten"]


def test_a_new_branch_lists_only_commits_that_are_new(server, work):
    push(work, "main")
    git(work, "checkout", "--quiet", "-b", "release/1")
    push(work, "release/1")
    assert server.taken[-1]["commits"] == []
    git(work, "checkout", "--quiet", "-b", "other")
    committed(work, {"x": "1"}, "New")
    push(work, "other")
    assert [one["message"] for one in server.taken[-1]["commits"]] == ["New"]


def test_an_annotated_tag_names_the_tag_and_the_commit(server, work):
    push(work, "main")
    git(work, "tag", "-a", "v1", "-m", "One")
    push(work, "v1")
    payload = server.taken[-1]
    assert payload["ref"] == "refs/tags/v1"
    assert payload["after"] == git(work, "rev-parse", "v1").strip()
    assert payload["head_commit"]["id"] == git(work, "rev-parse", "HEAD").strip()


def test_a_deleted_branch_is_told_to_nobody(server, work):
    push(work, "main", "main:other")
    server.taken.clear()
    assert "argosy: other: deleted, so there is nothing to run" in push(work, "--delete", "other")
    assert server.taken == []


def test_refs_pushed_together_are_told_one_by_one(server, work):
    push(work, "main", "main:refs/heads/b", "main:refs/notes/x")
    assert sorted(one["ref"] for one in server.taken) == ["refs/heads/b", "refs/heads/main"]


def test_a_busy_server_is_asked_again(server, work):
    server.answers = [503, 429]
    assert "told Argo" in push(work, "main")
    assert len(server.taken) == 1
    assert server.signed == [True] * 3


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (403, "refuses the signature (403); is the secret the one in Secret argo-workflows-webhook-clients"),
        (404, "answers 404: what the server says"),
        (302, "answers 302: is it the address of Argo?"),
    ],
)
def test_a_refusal_is_told_and_fails_no_push(server, bare, work, status, told):
    server.answers = [status] * 9
    server.message = "what the server says"
    said = push(work, "main")
    assert "argosy: main: no run was asked for: " in said
    assert told in said
    assert len(server.headers) == 1
    assert git(bare, "rev-parse", "main") == git(work, "rev-parse", "main")


def test_a_server_that_cannot_is_asked_four_times_and_its_reason_told(server, work):
    server.answers = [500] * 9
    server.message = "no template \x1b[31m"
    assert "no run was asked for: http://127.0.0.1" in (said := push(work, "main"))
    assert "answers 500: no template ?[31m" in said
    assert len(server.headers) == 4


def test_a_run_that_is_there_already_is_no_failure(server, work):
    server.answers = [500]
    server.message = 'failed to create workflow: workflows.argoproj.io "digits-1" already exists'
    said = push(work, "main")
    assert "told Argo; pipelines that listen" in said
    assert 'it answers: failed to create workflow: workflows.argoproj.io "digits-1" already exists' in said
    assert len(server.headers) == 1


def test_what_was_not_told_can_be_told_again_as_the_hook_says(server, bare, work):
    server.answers = [403]
    said = push(work, "main")
    words = said.partition(f"to ask again, in {bare}: ")[2].splitlines()[0]
    subprocess.run(["sh", "-c", words], cwd=bare, check=True, capture_output=True)
    assert [one["ref"] for one in server.taken] == ["refs/heads/main"]


@pytest.mark.parametrize(
    "address", ["http://my host", "http://x:password@127.0.0.1:1", "ftp://x", "http://127.0.0.1:x", "x"]
)
def test_what_is_no_address_is_told_without_what_it_may_hold(bare, work, address):
    git(bare, "config", "argosy.server", address)
    said = push(work, "main")
    assert "argosy: main: no run was asked for: " in said
    assert "Traceback" not in said
    assert "password" not in said


def test_a_server_that_speaks_no_http_is_told(bare, work):
    with socket.create_server(("127.0.0.1", 0)) as other:

        def greet():
            connection, _ = other.accept()
            with connection:
                connection.sendall(b"SSH-2.0-x\r\n")
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(1 << 16):
                    pass

        threading.Thread(target=greet, daemon=True).start()
        git(bare, "config", "argosy.server", f"http://127.0.0.1:{other.getsockname()[1]}")
        said = push(work, "main")
    assert "argosy: main: no run was asked for: " in said
    assert "Traceback" not in said


@pytest.mark.parametrize("setting", ["secretFile", "caFile"])
def test_a_file_that_is_not_there_is_told_by_its_name_at_once(server, bare, work, setting):
    git(bare, "config", f"argosy.{setting}", "/no/such/file")
    assert re.search(r"no run was asked for: .*/no/such/file", push(work, "main"))
    assert server.headers == []


def test_a_branch_whose_name_is_no_utf8_hides_no_other(server, bare):
    head = "0" * 40
    lines = f"{head} {head} refs/heads/".encode() + b"m\xff\n" + f"{head} {head} refs/heads/b\n".encode()
    done = subprocess.run(
        ["hooks/post-receive"], cwd=bare, input=lines, capture_output=True, check=True,
        env=os.environ | {"PYTHONIOENCODING": "utf-8:strict"},
    )  # fmt: skip
    assert done.stdout.decode().splitlines() == [
        "argosy: m?: deleted, so there is nothing to run",
        "argosy: b: deleted, so there is nothing to run",
    ]
    assert server.taken == []


@pytest.mark.parametrize("setting", ["server", "namespace", "secretFile"])
def test_a_setting_that_is_missing_is_named(bare, work, setting):
    git(bare, "config", "--unset", f"argosy.{setting}")
    assert f"argosy.{setting} is not set; `git config argosy.{setting} VALUE` in the repository sets it" in push(
        work, "main"
    )


def test_an_empty_secret_signs_nothing(server, bare, work):
    (bare.parent / "secret").write_text("\n")
    assert "is empty; write the secret into it" in push(work, "main")
    assert server.headers == []


def test_the_secret_is_told_to_nobody(server, work):
    server.answers = [403]
    said = push(work, "main")
    assert SECRET not in said
    assert all(SECRET not in str(headers) for headers in server.headers)


def test_hostile_names_and_messages_stay_data(server, work, tmp_path):
    branch = f"$(touch${{IFS}}{tmp_path}/ran);'`id`"
    committed(work, {}, "{{workflow.name}} $(id) \x1b[31m")
    git(work, "branch", "-m", branch)
    push(work, branch)
    assert server.taken[-1]["ref"] == f"refs/heads/{branch}"
    assert not (tmp_path / "ran").exists()


def test_a_large_push_keeps_its_paths_and_drops_messages(server, work):
    for number in range(3):
        committed(work, {f"folder{number}/x": "1"}, "m" * 500_000)
    push(work, "main")
    commits = server.taken[-1]["commits"]
    assert [path for one in commits for path in one["added"]] == [
        "README.md", "dvc.lock", "folder0/x", "folder1/x", "folder2/x",
    ]  # fmt: skip
    assert {one["message"] for one in commits} == {""}


def test_a_push_of_too_many_paths_lists_no_commit_so_that_each_may_be_touched(server, work):
    committed(work, {f"{'d' * 200}/{number:05}{'f' * 200}": "" for number in range(3000)}, "Many")
    push(work, "main")
    assert server.taken[-1]["commits"] == []
    assert server.taken[-1]["head_commit"]["message"] == "Many"
