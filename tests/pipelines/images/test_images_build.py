"""`argosy images build`: which tiers are built of what, and what a user is told where none can be."""

import tarfile

import pytest


def names(tags):
    return [tag.rpartition("/")[2].partition(":")[0] for tag in tags]


@pytest.fixture
def built(repository):
    """The repository after a first build."""
    repository.engines("buildah")
    done = repository.argosy("build")
    assert done.returncode == 0, done.stderr
    return repository


def files(repository, tag):
    with tarfile.open(repository.context(tag) / "project.tar") as tar:
        return {one.name: tar.extractfile(one).read().decode() for one in tar if one.isfile()}


def test_three_tiers_are_built_each_on_the_one_below(built):
    base, framework, project = built.calls
    assert names(built.built) == ["base", "framework", "irises"]
    assert not [word for word in base if word.startswith("BASE=")]
    assert f"BASE={built.built[0]}" in framework
    assert f"BASE={built.built[1]}" in project


def test_only_their_owner_may_write_the_files(built):
    with tarfile.open(built.context(built.built[-1]) / "project.tar") as tar:
        assert {one.mode for one in tar if one.isfile()} == {0o644}


def test_the_tag_is_version_and_commit_and_is_printed_alone(repository):
    repository.engines("buildah")
    done = repository.argosy("build")
    assert done.stdout == f"irises:1.2.0-{repository.git('rev-parse', 'HEAD')[:12]}\n"
    assert repository.built[-1] == f"localhost/{done.stdout.strip()}"


def test_a_change_of_code_builds_the_project_tier_alone(built):
    (built.folder / "pipeline.py").write_text("# another\n")
    commit = built.commit()
    built.argosy("build")
    assert built.built[3:] == [f"localhost/irises:1.2.0-{commit[:12]}"]


def test_a_change_of_the_lock_builds_the_framework_anew_and_not_the_base(built):
    (built.folder / "requirements.lock").write_text("uv==0.9.1 --hash=sha256:00\n")
    built.commit()
    built.argosy("build")
    assert names(built.built[3:]) == ["framework", "irises"]
    assert built.built[3] != built.built[1]


def test_another_base_image_is_another_base_and_framework(built):
    built.argosy("build", "--base", "debian:12")
    assert names(built.built[3:]) == ["base", "framework", "irises"]
    assert "BASE=debian:12" in built.calls[3]


@pytest.mark.parametrize(
    ("tier", "anew"), [("base", ["base", "framework", "irises"]), ("framework", ["framework", "irises"])]
)
def test_a_tier_that_is_named_is_built_anew_with_those_on_it(built, tier, anew):
    built.argosy("build", "--tier", tier)
    assert names(built.built[3:]) == anew


def test_an_own_containerfile_takes_the_place_of_argosys(built):
    own = built.folder / "images" / "base" / "Containerfile"
    own.parent.mkdir(parents=True)
    own.write_text("ARG BASE\nFROM ${BASE}\n")
    built.commit()
    built.argosy("build")
    assert str(own) in built.calls[3]
    assert names(built.built[3:]) == ["base", "framework", "irises"]


def test_arguments_and_volumes_reach_every_build(repository):
    repository.engines("podman")
    repository.argosy("build", "--build-arg", "SSL_CERT_FILE=/ca.pem", "--volume", "/ca.pem:/ca.pem:ro")
    for call in repository.calls:
        assert call[call.index("SSL_CERT_FILE=/ca.pem") - 1] == "--build-arg"
        assert call[call.index("/ca.pem:/ca.pem:ro") - 1] == "--volume"


# ---------------------------------------------------------------------------------------------- what is in it


def test_an_image_holds_the_files_of_the_commit_and_nothing_else(repository):
    repository.engines("buildah")
    (repository.folder / "data").mkdir()
    (repository.folder / "data" / "ignored").touch()
    repository.argosy("build")
    tag = repository.built[-1]
    assert set(files(repository, tag)) == {".gitignore", "pipeline.py", "pyproject.toml", "requirements.lock"}
    assert (repository.context(tag) / ".argosy-revision").read_text() == repository.git("rev-parse", "HEAD")


def test_files_of_no_commit_are_refused(repository):
    repository.engines("buildah")
    (repository.folder / "new.py").touch()
    done = repository.argosy("build")
    assert done.returncode == 2
    assert "commit them, or take them as they are with --dirty" in done.stderr
    assert repository.calls == []


def test_dirty_takes_files_as_they_are_says_so_and_leaves_gits_index_alone(repository):
    repository.engines("buildah")
    (repository.folder / "new.py").write_text("new")
    (repository.folder / "pipeline.py").write_text("changed")
    (repository.folder / "requirements.lock").unlink()
    (repository.folder / "requirements.lock").write_text("uv==1 --hash=sha256:00\n")
    before = repository.git("status", "--porcelain")
    done = repository.argosy("build", "--dirty")
    assert done.stdout.endswith("-dirty\n")
    held = files(repository, repository.built[-1])
    assert (held["new.py"], held["pipeline.py"]) == ("new", "changed")
    assert (repository.context(repository.built[-1]) / ".argosy-revision").read_text().endswith("-dirty")
    assert repository.git("status", "--porcelain") == before


@pytest.mark.parametrize("ignored", [".argosy/\n__pycache__/\n", "/data/\n"], ids=["ignored", "not ignored"])
def test_what_runs_leave_behind_is_in_no_image(repository, ignored):
    repository.engines("buildah")
    (repository.folder / ".gitignore").write_text(ignored)
    for folder in (".argosy", "code/__pycache__"):
        (repository.folder / folder).mkdir(parents=True)
        (repository.folder / folder / "left").touch()
    done = repository.argosy("build", "--dirty")
    assert done.returncode == 0, done.stderr
    assert set(files(repository, repository.built[-1])) == {
        ".gitignore", "pipeline.py", "pyproject.toml", "requirements.lock",
    }  # fmt: skip


@pytest.mark.parametrize("options", [(), ("--dirty",)], ids=["clean", "dirty"])
def test_a_project_below_the_repositorys_root_is_taken_without_the_rest(repository, options):
    repository.engines("buildah")
    part = repository.folder / "part"
    part.mkdir()
    for name in ("pyproject.toml", "requirements.lock"):
        (repository.folder / name).rename(part / name)
    repository.commit()
    if options:
        (part / "new.py").touch()
    repository.folder = part
    done = repository.argosy("build", *options)
    assert done.returncode == 0, done.stderr
    expected = {"pyproject.toml", "requirements.lock", *(["new.py"] if options else [])}
    assert set(files(repository, repository.built[-1])) == expected


def test_the_steps_in_an_image_are_those_of_the_argosy_that_builds_it(built):
    from argosy import steps

    copied = built.context(built.built[-1]) / "argosy" / "steps"
    for file in ("__main__.py", "contracts.py", "train/supervisor.py"):
        assert (copied / file).read_bytes() == (copied.__class__(steps.__path__[0]) / file).read_bytes()
    assert not list(copied.rglob("__pycache__"))


# ---------------------------------------------------------------------------------------------- mistakes


def test_without_an_engine_the_three_are_named(repository):
    done = repository.argosy("build")
    assert done.returncode == 2
    assert "none of buildah, podman, docker is installed" in done.stderr


def test_the_first_engine_that_is_there_builds(repository):
    repository.engines("podman", "docker")
    repository.argosy("build")
    assert {call[0] for call in repository.calls} == {"podman"}


def test_an_engine_that_is_named_builds(repository):
    repository.engines("podman", "docker")
    repository.argosy("build", "--engine", "docker")
    assert {call[0] for call in repository.calls} == {"docker"}


def test_an_engine_that_fails_is_told_with_its_last_lines(repository):
    repository.engines("buildah")
    repository.fail("error: no space left on device")
    done = repository.argosy("build")
    assert done.returncode == 2
    assert "`buildah build` failed with exit code 125" in done.stderr
    assert done.stderr.endswith("argosy:   error: no space left on device\n")


def test_a_missing_lock_is_told_with_the_command_that_writes_it(repository):
    repository.engines("buildah")
    (repository.folder / "requirements.lock").unlink()
    repository.commit()
    done = repository.argosy("build")
    assert done.returncode == 2
    assert "`argosy images freeze` writes requirements.lock" in done.stderr


def test_a_lock_that_is_no_text_is_told(repository):
    repository.engines("buildah")
    (repository.folder / "requirements.lock").write_bytes(b"\xff\xfe")
    repository.commit()
    done = repository.argosy("build")
    assert done.returncode == 2
    assert "requirements.lock: is no text; `argosy images freeze` writes" in done.stderr


def test_a_project_without_a_commit_is_told_so(repository):
    repository.engines("buildah")
    repository.git("update-ref", "-d", "HEAD")
    done = repository.argosy("build")
    assert done.returncode == 2
    assert "`git commit` first" in done.stderr
