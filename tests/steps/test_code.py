"""The project's code at a commit, out of real git repositories."""

import http.server
import os
import shutil
import socket
import subprocess
import threading
from base64 import b64encode
from functools import partial

import pytest

from argosy.steps.code import repository
from argosy.steps.code.step import run
from argosy.steps.contracts import CodeInput, ExitCode
from argosy.steps.errors import StepError

LOCK = "numpy==2.1.0 \\\n    --hash=sha256:0\ntorch==2.9.0\n"


@pytest.fixture
def origin(tmp_path, git):
    """A bare repository; `commit(files)` puts a commit on its branch and gives its hash."""
    work = tmp_path / "work"
    work.mkdir()
    git(work, "init", "--quiet", "--initial-branch=main")
    bare = tmp_path / "origin.git"
    git(tmp_path, "init", "--quiet", "--bare", "--initial-branch=main", str(bare))

    def commit(**files):
        for name, text in files.items():
            (work / name.replace("__", ".")).write_text(text)
        git(work, "add", "--all")
        git(work, "commit", "--quiet", "--allow-empty", "--message=Change")
        git(work, "push", "--quiet", "--force", str(bare), "HEAD:main")
        git(bare, "update-server-info")
        words = ["git", "-C", str(work), "rev-parse", "HEAD"]
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()

    commit.folder = bare
    return commit


@pytest.fixture
def fetch(origin, tmp_path):
    def call(revision, **changes):
        fields = {
            "repository": origin.folder.as_uri(),
            "revision": revision,
            "project": tmp_path / "project",
            "lock": tmp_path / "image.lock",
            "credentials": tmp_path / "credentials",
            "output": tmp_path / "output",
        }
        return run(CodeInput(**fields | changes))

    return call


@pytest.fixture
def project(tmp_path):
    return tmp_path / "project"


def refusal(exit_code, call, *args, **changes):
    with pytest.raises(StepError) as caught:
        call(*args, **changes)
    assert caught.value.exit_code == exit_code, caught.value.message
    assert "\n" not in caught.value.message
    return caught.value.message


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_files_are_those_of_the_commit_whatever_the_branch_holds_now(fetch, origin, project):
    first = origin(task="one")
    origin(task="two", other="x")
    assert fetch(first).commit == first
    assert (project / "task").read_text() == "one"
    assert names(project) == [".git", "task"]


def test_one_commit_is_fetched_and_not_its_history(fetch, origin, project):
    for number in range(3):
        last = origin(task=str(number))
    fetch(last)
    words = ["git", "-C", str(project), "rev-list", "--count", "HEAD"]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "1\n"


def test_a_commit_that_no_branch_holds_any_more_is_fetched_where_the_server_has_it(
    fetch, origin, project, git, tmp_path
):
    first = origin(task="one")
    git(tmp_path / "work", "commit", "--quiet", "--amend", "--message=Forced")
    origin(task="two")
    fetch(first)
    assert (project / "task").read_text() == "one"


def test_a_server_that_gives_no_commit_by_its_hash_gives_it_among_all_others(fetch, origin, project, tmp_path):
    first = origin(task="one")
    origin(task="two")
    with served(tmp_path) as address:  # plain files over HTTP: such a server gives branches alone
        fetch(first, repository=f"{address}/origin.git")
    assert (project / "task").read_text() == "one"


def test_a_half_made_checkout_is_begun_anew(fetch, origin, project, tmp_path):
    first, second = origin(task="one", gone="x"), origin(task="two")
    fetch(first)
    (project / "task").write_text("torn")
    (project / "stray").write_text("x")
    (project / "link").symlink_to(tmp_path / "work")
    for name in ("index.lock", "shallow.lock", "HEAD.lock"):
        (project / ".git" / name).touch()
    (project / ".git/objects").rename(project / ".git/lost")
    fetch(second)
    assert (project / "task").read_text() == "two"
    assert names(project) == [".git", "gone", "task"]
    assert (tmp_path / "work/task").exists()


@pytest.mark.parametrize("make", [lambda path: path.write_text("mine"), lambda path: path.symlink_to("/nowhere")])
def test_a_folder_with_somebody_elses_files_is_refused_and_left_alone(make, fetch, origin, project):
    commit = origin(task="one")
    project.mkdir()
    make(project / "work")
    assert "holds files that this step has not put there" in refusal(ExitCode.CONFIGURATION, fetch, commit)
    assert names(project) == ["work"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_volume_of_another_users_is_filled(fetch, origin, project):
    project.mkdir()
    os.chown(project, 54321, 54321)
    fetch(origin(task="one"))
    assert names(project) == [".git", "task"]


def test_a_folder_with_empty_folders_alone_is_taken(fetch, origin, project):
    (project / "lost+found").mkdir(parents=True)
    fetch(origin(task="one"))
    assert names(project) == [".git", "task"]


def test_no_hook_that_this_machine_gives_new_repositories_is_run(fetch, origin, tmp_path, monkeypatch):
    commit = origin(task="one")
    hook = tmp_path / "template/hooks/post-checkout"
    hook.parent.mkdir(parents=True)
    hook.write_text(f"#!/bin/sh\ntouch '{tmp_path}/ran'\n")
    hook.chmod(0o755)
    monkeypatch.setenv("GIT_TEMPLATE_DIR", str(tmp_path / "template"))
    fetch(commit)
    assert not (tmp_path / "ran").exists()


def test_what_is_not_fetched_is_named(fetch, origin, git, tmp_path, capsys):
    work = tmp_path / "work"
    git(work, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},library")
    (work / "library").mkdir()
    fetch(origin(task="one", __gitattributes="*.bin filter=lfs\n", weights__bin="a pointer"))
    assert capsys.readouterr().err == "submodules and files of Git LFS are not fetched: library, weights.bin\n"


def test_a_repository_that_a_hook_names_is_left_alone(fetch, origin, project, tmp_path, monkeypatch):
    commit = origin(task="one")
    hooks = tmp_path / "work/.git"
    before = names(hooks)
    for name, path in {"DIR": hooks, "INDEX_FILE": hooks / "other", "WORK_TREE": tmp_path / "work"}.items():
        monkeypatch.setenv(f"GIT_{name}", str(path))
    fetch(commit)
    assert names(project) == [".git", "task"]
    assert names(hooks) == before


@pytest.mark.parametrize(
    ("revision", "words"),
    [
        ("", "is empty"),
        ("0123456789012345678901234567890123456789-dirty", "commit, push"),
        ("main", "is no whole hash of a commit; give what `git rev-parse main` prints"),
        ("--upload-pack=touch /tmp/x", "is no whole hash"),
    ],
)
def test_a_revision_that_is_no_commit_is_refused_with_the_remedy(revision, words, fetch, origin):
    origin(task="one")
    assert words in refusal(ExitCode.CONFIGURATION, fetch, revision)


def test_an_unknown_commit_is_a_matter_of_data(fetch, origin):
    origin(task="one")
    assert "has no such commit; push it" in refusal(ExitCode.DATA, fetch, "0" * 39 + "1")


def test_a_tree_is_no_commit(fetch, origin, tmp_path):
    origin(task="one")
    words = ["git", "-C", str(tmp_path / "work"), "rev-parse", "HEAD^{tree}"]
    tree = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    assert "has no such commit" in refusal(ExitCode.DATA, fetch, tree)


def test_a_hash_of_another_length_than_the_repositorys_is_a_matter_of_data(fetch, origin):
    origin(task="one")
    assert "not as long as the revision's" in refusal(ExitCode.DATA, fetch, "a" * 64)


def test_a_host_that_says_nothing_is_a_temporary_failure(fetch, origin, monkeypatch):
    commit = origin(task="one")
    monkeypatch.setitem(repository.SETTINGS, "GIT_HTTP_LOW_SPEED_TIME", "1")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/x.git"
        assert "cannot be fetched: " in refusal(ExitCode.TEMPORARY, fetch, commit, repository=address)


def test_a_host_that_does_not_answer_is_a_temporary_failure(fetch, origin):
    commit = origin(task="one")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}/x.git"
        assert "cannot be fetched: " in refusal(ExitCode.TEMPORARY, fetch, commit, repository=address)


@pytest.mark.parametrize("address", ["file:///nowhere.git", "https://[::1"])
def test_an_address_of_no_repository_is_a_matter_of_configuration(address, fetch, origin):
    commit = origin(task="one")
    assert "may not be read: " in refusal(ExitCode.CONFIGURATION, fetch, commit, repository=address)


def test_a_repository_that_a_git_server_does_not_show_is_a_matter_of_configuration(fetch, origin, tmp_path):
    commit = origin(task="one")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        words = ["git", "daemon", "--inetd", f"--base-path={tmp_path}", str(tmp_path)]  # it shows what is marked

        def serve():
            connection, _ = listening.accept()
            with connection:
                subprocess.run(words, stdin=connection, stdout=connection, stderr=subprocess.DEVNULL, check=False)

        threading.Thread(target=serve, daemon=True).start()
        message = refusal(ExitCode.CONFIGURATION, fetch, commit, repository=f"git://127.0.0.1:{port}/origin.git")
    assert "access denied" in message


@pytest.mark.parametrize("address", ["ext::sh -c touch% pwned", "ssh://127.0.0.1/x"])
def test_no_way_that_runs_a_program_or_needs_a_key_is_taken(address, fetch, origin):
    commit = origin(task="one")
    assert "not allowed" in refusal(ExitCode.CONFIGURATION, fetch, commit, repository=address)


# ---------------------------------------------------------------------------------------------- the lock


def test_other_packages_than_the_images_are_refused_by_name_with_the_remedy(fetch, origin, tmp_path, project):
    commit = origin(requirements__lock=LOCK)
    (tmp_path / "image.lock").write_text("numpy==2.0.0\ntorch==2.9.0\nold==1\n")
    message = refusal(ExitCode.CONFIGURATION, fetch, commit)
    assert "numpy 2.0.0 instead of 2.1.0, old 1 instead of none" in message
    assert "torch" not in message
    assert "`argosy images build`" in message
    assert names(project) == [".git"]


def test_each_version_of_a_package_that_has_several_counts(fetch, origin, tmp_path):
    lock = "numpy=={} ; python_full_version < '3.12'\nnumpy==2.3.0 ; python_full_version >= '3.12'\n"
    commit = origin(requirements__lock=lock.format("2.2.1"))
    (tmp_path / "image.lock").write_text(lock.format("2.2.0"))
    message = refusal(ExitCode.CONFIGURATION, fetch, commit)
    assert "numpy 2.2.0 or 2.3.0 instead of 2.2.1 or 2.3.0" in message


@pytest.mark.parametrize("image", [LOCK, "# another comment\nTorch==2.9.0 --hash=sha256:1\nnumpy[extra]==2.1.0\n"])
def test_the_same_packages_agree_however_they_are_written(image, fetch, origin, tmp_path, project):
    commit = origin(requirements__lock=LOCK)
    (tmp_path / "image.lock").write_text(image)
    fetch(commit)
    assert "requirements.lock" in names(project)


def test_a_lock_that_cannot_be_compared_is_said(fetch, origin, capsys):
    fetch(origin(requirements__lock=LOCK))
    assert "the packages were not compared" in capsys.readouterr().err


# ---------------------------------------------------------------------------------------------- credentials


class Guarded(http.server.SimpleHTTPRequestHandler):
    """Plain files, for whoever names the password."""

    password = ""

    def do_GET(self):
        expected = f"Basic {b64encode(f'me:{self.password}'.encode()).decode()}"
        if self.password and self.headers["Authorization"] != expected:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="x"')
            self.end_headers()
        else:
            super().do_GET()

    def log_message(self, *_):
        pass


class served:  # noqa: N801 - reads as a verb
    """A folder over HTTP."""

    def __init__(self, folder, password=""):
        handler = type("Handler", (Guarded,), {"password": password})
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(folder)))

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self._server.server_port}"

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()


def test_the_password_comes_from_the_netrc_of_the_mounted_secret_alone(fetch, origin, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    commit = origin(task="one")
    with served(tmp_path, "hunter2") as address:
        repository_address = f"{address}/origin.git"
        message = refusal(ExitCode.CONFIGURATION, fetch, commit, repository=repository_address)
        assert "may not be read: " in message
        (tmp_path / "credentials").mkdir()
        netrc = tmp_path / "credentials" / repository.NETRC
        netrc.write_text("machine 127.0.0.1 login me password wrong\n")
        assert "wrong" not in refusal(ExitCode.CONFIGURATION, fetch, commit, repository=repository_address)
        netrc.write_text("machine 127.0.0.1 login me password hunter2\n")
        fetch(commit, repository=repository_address)
    kept = [path.read_bytes() for path in (tmp_path / "project").rglob("*") if path.is_file()]
    assert b"one" in kept
    assert not any(b"hunter2" in content for content in kept)


def test_without_git_it_is_said_what_needs_it(fetch, origin, monkeypatch, tmp_path):
    commit = origin(task="one")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert shutil.which("git") is None
    assert "git: is not installed" in refusal(ExitCode.CONFIGURATION, fetch, commit)
