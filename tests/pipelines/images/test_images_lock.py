"""Push and lock: a digest reaches images.lock, and from there every manifest."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from argosy.pipelines.errors import Refusal
from argosy.pipelines.images import lock
from argosy.steps import stored

REGISTRY = "registry.example.org/team"
DIGEST = f"sha256:{'ab' * 32}"
REFERENCE = f"{REGISTRY}/irises@{DIGEST}"


@pytest.fixture
def pushed(repository):
    repository.engines("buildah")
    repository.argosy("build")
    done = repository.argosy("push", REGISTRY)
    assert (done.returncode, done.stdout) == (0, f"{REFERENCE}\n"), done.stderr
    return repository


@pytest.fixture
def locked(pushed):
    done = pushed.argosy("lock")
    assert done.returncode == 0, done.stderr
    return pushed


def test_lock_records_digest_and_commit_of_what_was_pushed(locked):
    recorded = tomllib.loads((locked.folder / "images.lock").read_text())
    assert recorded == {"irises:1.2.0": {"reference": REFERENCE, "revision": locked.git("rev-parse", "HEAD")}}


def test_lock_keeps_what_other_versions_are(locked):
    pyproject = locked.folder / "pyproject.toml"
    pyproject.write_text(pyproject.read_text().replace("1.2.0", "1.3.0"))
    locked.commit()
    for words in (["build"], ["push", REGISTRY], ["lock"]):
        assert locked.argosy(*words).returncode == 0
    assert set(lock.entries(locked.folder / "images.lock")) == {"irises:1.2.0", "irises:1.3.0"}


@pytest.mark.parametrize("engine", ["buildah", "podman"])
def test_buildah_and_podman_push_to_the_registry_and_give_the_digest(repository, engine):
    repository.engines(engine)
    repository.argosy("build")
    assert repository.argosy("push", f"{REGISTRY}/").stdout == f"{REFERENCE}\n"
    tag = repository.built[-1]
    assert repository.calls[-1][-2:] == [tag, f"docker://{REGISTRY}/{tag.removeprefix('localhost/')}"]


def test_docker_tags_pushes_and_gives_the_digest_of_that_registry(repository):
    repository.engines("docker")
    repository.argosy("build")
    assert repository.argosy("push", REGISTRY).stdout == f"{REFERENCE}\n"
    tag = repository.built[-1]
    target = f"{REGISTRY}/{tag.removeprefix('localhost/')}"
    assert repository.calls[-2:] == [["docker", "tag", tag, target], ["docker", "push", target]]


def test_docker_tells_the_digest_of_its_own_hub_by_the_short_name(repository):
    repository.engines("docker")
    repository.argosy("build")
    assert repository.argosy("push", "docker.io/team").stdout == f"docker.io/team/irises@{DIGEST}\n"


@pytest.mark.parametrize(
    "program",
    [[sys.executable, "pipeline.py"], [Path(sys.executable).with_name("hera"), "generate", "yaml", "pipeline.py"]],
    ids=["python", "hera"],
)
def test_manifests_name_the_digest_once_it_is_locked(pushed, program):
    unlocked = manifest(pushed, program)
    assert "image: irises:1.2.0\n" in unlocked
    assert "irises:1.2.0" in held(unlocked)
    lock.write(pushed.folder / "images.lock", {"irises:1.2.0": lock.Entry(REFERENCE, "0" * 40)})
    locked = manifest(pushed, program)
    assert locked.replace(PACKED.search(locked)[0], PACKED.search(unlocked)[0]) == unlocked.replace(
        "irises:1.2.0", REFERENCE
    )
    assert held(locked) == held(unlocked).replace("irises:1.2.0", REFERENCE)


PACKED = re.compile(r"--manifest=(\S+)")


def held(text):
    """The manifest that a manifest holds, to be kept with the model."""
    return stored.unpacked(PACKED.search(text)[1])


def manifest(repository, program):
    done = subprocess.run(program, cwd=repository.folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.usefixtures("locked")
def test_an_image_that_the_lock_does_not_have_stays_as_it_is():
    assert lock.pinned("irises:9.9.9") == "irises:9.9.9"
    assert lock.pinned("irises:1.2.0") == REFERENCE


def test_the_lock_of_the_project_counts_in_its_subfolders_too(locked, monkeypatch):
    (locked.folder / "pipelines").mkdir()
    monkeypatch.chdir(locked.folder / "pipelines")
    assert lock.pinned("irises:1.2.0") == REFERENCE


def test_the_same_entries_give_the_same_bytes_in_any_order(tmp_path):
    one, other = lock.Entry("a@sha256:1", "c1"), lock.Entry("b@sha256:2", "c2")
    lock.write(tmp_path / "first", {"a:1": one, "b:2": other})
    lock.write(tmp_path / "second", {"b:2": other, "a:1": one})
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
    assert lock.entries(tmp_path / "first") == {"a:1": one, "b:2": other}


@pytest.mark.parametrize(
    "text", ["<<<<<<< HEAD\n", '["a:1"]\nreference = 3\n', '["a:1"]\nreference = "x"\n', "a = 1\n"]
)
def test_a_damaged_lock_is_refused_by_its_name(tmp_path, text):
    (tmp_path / "images.lock").write_text(text)
    with pytest.raises(Refusal, match=r"images\.lock: .*argosy images lock"):
        lock.entries(tmp_path / "images.lock")


# ---------------------------------------------------------------------------------------------- mistakes


def test_lock_before_any_push_is_told_what_comes_first(repository):
    done = repository.argosy("lock")
    assert done.returncode == 2
    assert "`argosy images push REGISTRY` comes first" in done.stderr


def test_push_before_the_build_of_this_commit_is_told_what_comes_first(pushed):
    (pushed.folder / "pipeline.py").write_text("")
    pushed.commit()
    done = pushed.argosy("push", REGISTRY)
    assert done.returncode == 2
    assert "`argosy images build` makes it" in done.stderr


def test_files_of_no_commit_may_be_pushed_but_never_locked(repository):
    repository.engines("buildah")
    (repository.folder / "new.py").touch()
    repository.argosy("build", "--dirty")
    assert repository.argosy("push", "--dirty", REGISTRY).returncode == 0
    done = repository.argosy("lock")
    assert done.returncode == 2
    assert "holds files of no commit" in done.stderr
    assert not (repository.folder / "images.lock").exists()


@pytest.mark.parametrize(
    "said", ["unauthorized: authentication required", "denied: requested access to the resource is denied"]
)
def test_a_registry_that_refuses_is_told_with_the_command_to_log_in(pushed, said):
    pushed.fail(said)
    done = pushed.argosy("push", REGISTRY)
    assert done.returncode == 2
    assert "`buildah login registry.example.org` first" in done.stderr
    assert said in done.stderr


@pytest.mark.parametrize("registry", ["https://registry.example.org", "", "/", "a b", "x@y", "-x", "host/Team", "h:x"])
def test_what_is_no_registry_is_told_and_pushed_to_by_nobody(repository, registry):
    repository.engines("buildah")
    done = repository.argosy("push", "--", registry)
    assert done.returncode == 2
    assert f"{registry!r} is no registry; write HOST, HOST:PORT or HOST/PATH, and no https://" in done.stderr
    assert repository.calls == []
