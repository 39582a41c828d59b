"""The reference pipeline as a project of its own: its data in S3, its files a commit that is the same every time."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from testcluster.paths import ROOT, SOURCES
from testcluster.stores import Stores

FILES = ("dvc.yaml", "dvc.lock", "pyproject.toml", "requirements.lock", "pipelines/digits.py")
TASKS = SOURCES / "testcluster" / "troubled_digits.py"
"""For tests whose training must be slow, or fail."""
DVC_CONFIG = """\
[core]
    remote = store
    analytics = false
['remote "store"']
    url = s3://data/dvc
"""
IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in {"NAME": "Test", "EMAIL": "test@localhost", "DATE": "2026-01-01T00:00:00Z"}.items()
}


def create(folder: Path) -> None:
    """Write the project's files into an empty folder and commit them."""
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    shutil.copy(TASKS, folder / TASKS.name)
    (folder / ".dvc").mkdir()
    (folder / ".dvc" / "config").write_text(DVC_CONFIG)
    (folder / ".dvc" / ".gitignore").write_text("/config.local\n/tmp\n/cache\n")
    (folder / ".gitignore").write_text(".argosy/\nimages.lock\n")
    git(folder, "init", "--quiet", "--initial-branch=main")
    commit(folder, "The digits pipeline")


def image(folder: Path) -> str:
    """The image that the project's pipeline names."""
    found = re.search(r'image="([^"]+)"', (folder / "pipelines" / "digits.py").read_text())
    assert found
    return f"docker.io/{found[1]}"  # as an engine of containers understands a name without a registry


def push_data(folder: Path, stores: Stores) -> None:
    """Put the reference data into the project's bucket, from the folder that `make` has filled."""
    remote = ROOT / "dvc-remote"
    assert remote.is_dir(), "the reference data is not there: run `make dvc-remote`"
    # A remote's folder is laid out as a cache is.
    (folder / ".dvc" / "config.local").write_text(f"[cache]\n    dir = {remote}\n")
    dvc = Path(sys.executable).with_name("dvc")
    subprocess.run([dvc, "push", "--quiet"], cwd=folder, env=os.environ | stores.environment, check=True)


def commit(folder: Path, message: str) -> str:
    """Commit everything; the commit's hash."""
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", message)
    return git(folder, "rev-parse", "HEAD")


def git(folder: Path, *words: str) -> str:
    command = ["git", "-C", folder, *words]
    done = subprocess.run(command, env=os.environ | IDENTITY, check=True, capture_output=True, text=True)
    return done.stdout.strip()
