"""`argosy images freeze`: uv itself resolves what pods import, out of a folder of wheels."""

import hashlib
import zipfile

import pytest

# A project of this name gets no requirements of an installed argosy: what is resolved is what stands here.
PYPROJECT = """
[project]
name = "argosy"
version = "1"
requires-python = ">=3.11"
dependencies = ["{requirement}"]
"""


@pytest.fixture
def wheels(tmp_path, monkeypatch):
    """Two versions of one package, and uv, as the only ones in the world."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))  # or it would know more packages
    monkeypatch.setenv("UV_FIND_LINKS", str(folder))
    return {name: wheel(folder, *name.split("-")) for name in ("small-1.0", "small-1.1", "uv-0.9.0")}


def wheel(folder, name, version):
    """Its hash."""
    path = folder / f"{name}-{version}-py3-none-any.whl"
    about = f"{name}-{version}.dist-info"
    files = {
        "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "RECORD": "",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in files.items():
            archive.writestr(f"{about}/{file}", text)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_lock_has_the_newest_that_fit_and_uv_with_hashes_and_without_addresses(repository, wheels):
    (repository.folder / "pyproject.toml").write_text(PYPROJECT.format(requirement="small<1.1"))
    done = repository.argosy("freeze")
    assert (done.returncode, done.stdout) == (0, "requirements.lock is written; commit it\n"), done.stderr
    assert (repository.folder / "requirements.lock").read_text().split() == [
        "small==1.0", "\\", f"--hash=sha256:{wheels['small-1.0']}",
        "uv==0.9.0", "\\", f"--hash=sha256:{wheels['uv-0.9.0']}",
    ]  # fmt: skip


def test_an_image_can_be_built_from_what_freeze_wrote(repository, wheels):  # noqa: ARG001 - what uv finds
    (repository.folder / "pyproject.toml").write_text(PYPROJECT.format(requirement="small"))
    assert repository.argosy("freeze").returncode == 0
    repository.commit()
    repository.engines("buildah")
    assert repository.argosy("build").returncode == 0


@pytest.mark.usefixtures("wheels")
def test_requirements_that_nothing_meets_are_told_and_the_lock_stays(repository):
    before = (repository.folder / "requirements.lock").read_text()
    (repository.folder / "pyproject.toml").write_text(PYPROJECT.format(requirement="small>2"))
    done = repository.argosy("freeze")
    assert done.returncode == 2
    assert "small>2" in done.stderr
    assert "Traceback" not in done.stderr
    assert (repository.folder / "requirements.lock").read_text() == before
