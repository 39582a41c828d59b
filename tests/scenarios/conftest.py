"""The reference pipeline in a project of its own, run by the real command line with real data."""

import json
import os
import shutil
import subprocess
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

import mlflow
import pytest

from argosy.pipelines.local.store import Home, RunFolder

ROOT = Path(__file__).parents[2]
ARGOSY = Path(sys.executable).with_name("argosy")


@dataclass
class Project:
    """A project that holds the digits pipeline's data files, and what a user would type in it."""

    path: Path

    def start(self, *words: str) -> "subprocess.Popen[str]":
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen([ARGOSY, *words], cwd=self.path, **pipes)

    def argosy(self, *words: str, code: int = 0) -> str:
        """Run a command to its end and hold it to its exit code; what it printed."""
        with self.start(*words) as process:
            stdout, stderr = process.communicate(timeout=400)
        assert process.returncode == code, f"{words}\n{stdout}\n{stderr}"
        return stdout

    def json(self, *words: str, code: int = 0) -> dict:
        return json.loads(self.argosy(*words, "--json", code=code))

    @property
    def run(self) -> RunFolder:
        """The one run there is."""
        (run,) = Home(self.path / ".argosy").runs()
        return run

    @property
    def models(self) -> Path:
        return self.path / ".argosy" / "claims" / "argosy-models"

    def versions(self) -> list:
        """The registered versions, as MLflow's own client sees them; the champion first."""
        database = self.path / ".argosy" / "claims" / "argosy-registry" / "mlflow.db"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # MLflow's own use of SQLAlchemy is deprecated
            client = mlflow.MlflowClient(tracking_uri=f"sqlite:///{database}")
            champion = client.get_model_version_by_alias("digits", "champion")
            versions = list(client.search_model_versions("name = 'digits'"))
        return sorted(versions, key=lambda version: version.version != champion.version)


@pytest.fixture
def argosy_command() -> Path:
    return ARGOSY


@pytest.fixture
def digits(tmp_path) -> Project:
    remote = ROOT / "dvc-remote"
    assert remote.is_dir(), "the reference data is not there: run `make dvc-remote`"
    for name in ("dvc.yaml", "dvc.lock", ".dvc/config", "pipelines/digits.py", "pyproject.toml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "dvc-remote").symlink_to(remote)
    (tmp_path / ".gitignore").write_text(".argosy/\ndvc-remote\n")
    identity = ["-c", "user.name=Test", "-c", "user.email=test@localhost"]
    for words in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "The digits pipeline"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True, env=os.environ)
    return Project(tmp_path)
