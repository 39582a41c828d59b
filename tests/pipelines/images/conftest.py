"""A project under git, and engines that keep what they are told instead of building it.

Only buildah can be had everywhere, and tests/cluster runs it; what the three are told is tested here.
"""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ARGOSY = Path(sys.executable).with_name("argosy")
IDENTITY = {f"GIT_{who}_{what}": "user@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
DIGEST = f"sha256:{'ab' * 32}"
ENGINE = f"""#!{sys.executable}
import json, os, pathlib, shutil, sys
home, words = pathlib.Path(os.environ["ENGINE_HOME"]), sys.argv[1:]
tags = home / "tags"
known = tags.read_text().split() if tags.exists() else []
if "inspect" in words and "--format" in words:
    name = words[-1].rpartition(":")[0].removeprefix("docker.io/")
    print(json.dumps(["other.example.org/x@sha256:0", name + "@{DIGEST}"]))
elif "inspect" in words:
    sys.exit(words[-1] not in known)
else:
    with (home / "calls").open("a") as calls:
        print(json.dumps([pathlib.Path(sys.argv[0]).name, *words]), file=calls)
    print("STEP 1/1", words[0], flush=True)
    if (home / "fails").exists():
        print((home / "fails").read_text(), file=sys.stderr)
        sys.exit(125)
    if words[0] == "build":
        tag = words[words.index("--tag") + 1]
        shutil.copytree(words[-1], home / "contexts" / tag.replace("/", "_"), dirs_exist_ok=True)
        tags.write_text(" ".join([*known, tag]))
    if "--digestfile" in words:
        pathlib.Path(words[words.index("--digestfile") + 1]).write_text("{DIGEST}\\n")
"""
PYPROJECT = """
[project]
name = "irises"
version = "1.2.0"
dependencies = ["argosy[pipelines,steps]", "scikit-learn>=1.6"]

[project.optional-dependencies]
vision = ["pillow"]
"""
PIPELINE = """
from argosy.pipelines import Accuracy, Dataset, Pipeline, Registry, Training

pipeline = Pipeline(
    name="irises", dataset=Dataset("data/irises"), training=Training(task="irises:Task"),
    gates=[Accuracy(at_least=0.5)], registry=Registry("irises"), image="irises:1.2.0",
)
workflow = pipeline.workflow()
if __name__ == "__main__":
    print(workflow.to_yaml())
"""


@dataclass
class Repository:
    """A project under git that is the working directory, and engines that `engines` installs."""

    folder: Path
    home: Path
    programs: Path

    def engines(self, *names: str) -> None:
        for name in names:
            (self.programs / name).write_text(ENGINE)
            (self.programs / name).chmod(0o755)

    def argosy(self, *words: str) -> "subprocess.CompletedProcess[str]":
        environment = os.environ | {"ENGINE_HOME": str(self.home), "PATH": str(self.programs)}
        command = [ARGOSY, "images", *words]
        return subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False, timeout=120
        )

    def git(self, *words: str) -> str:
        command = ["git", "-C", self.folder, *words]
        done = subprocess.run(command, env=os.environ | IDENTITY, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def commit(self) -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "x")
        return self.git("rev-parse", "HEAD")

    @property
    def calls(self) -> list[list[str]]:
        """What the engines were told, but for questions."""
        file = self.home / "calls"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    @property
    def built(self) -> list[str]:
        """The tags that were built, in order."""
        return [call[call.index("--tag") + 1] for call in self.calls if call[1] == "build"]

    def context(self, tag: str) -> Path:
        """The folder that an image was built of."""
        return self.home / "contexts" / tag.replace("/", "_")

    def fail(self, said: str) -> None:
        """From now on the engines fail."""
        (self.home / "fails").write_text(said)


@pytest.fixture
def repository(tmp_path, monkeypatch) -> Repository:
    folder, home, programs = (tmp_path / name for name in ("irises", "home", "programs"))
    for one in (folder, home, programs):
        one.mkdir()
    (programs / "git").symlink_to(shutil.which("git"))
    (folder / "pyproject.toml").write_text(PYPROJECT)
    (folder / "requirements.lock").write_text("uv==0.9.0 --hash=sha256:00\n")
    (folder / ".gitignore").write_text(".argosy/\n__pycache__/\n/data/\n")
    (folder / "pipeline.py").write_text(PIPELINE)
    made = Repository(folder, home, programs)
    made.git("init", "--quiet")
    made.commit()
    monkeypatch.chdir(folder)
    return made
