"""The programs that build images: buildah, podman and docker, by the part of their command lines that is the same."""

import json
import re
import shutil
import subprocess
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from argosy.pipelines.errors import Problem, Refusal

ENGINES = ("buildah", "podman", "docker")
"""In the order in which they are looked for."""

LINES_TOLD = 5
"""Of an engine that failed: how many of its last lines say why."""

REFUSED = re.compile(r"unauthori[sz]ed|authentication required|denied: |no basic auth|forbidden", re.IGNORECASE)
"""What registries and engines say to one who has not logged in, or may not push."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Build:
    """An image to be made of a folder."""

    tag: str
    containerfile: Path
    folder: Path
    arguments: Mapping[str, str]
    volumes: Sequence[str] = ()
    """`HERE:THERE[:ro]`, seen by the build alone; docker knows none."""


@dataclass(frozen=True)
class Engine:
    """A program on this machine, and the images it keeps."""

    name: str
    say: Say
    """Takes each line that it prints."""

    @classmethod
    def found(cls, name: str | None, say: Say) -> "Engine":
        """The engine of this name; None: the first there is. Raises Refusal where it is not installed."""
        wanted = [name] if name else ENGINES
        there = next((one for one in wanted if shutil.which(one)), None)
        if there is None:
            what = f"{name} is not installed" if name else f"none of {', '.join(ENGINES)} is installed"
            raise Refusal([Problem("--engine", what, "install one; buildah needs no daemon")])
        return cls(there, say)

    def has(self, tag: str) -> bool:
        """Whether it keeps an image of this tag."""
        inspect = ["inspect", "--type", "image"] if self.name == "buildah" else ["image", "inspect"]
        return subprocess.run([self.name, *inspect, tag], capture_output=True, check=False).returncode == 0

    def build(self, build: Build) -> None:
        """Raises Refusal with what the engine said."""
        arguments = [word for name, value in build.arguments.items() for word in ("--build-arg", f"{name}={value}")]
        volumes = [word for volume in build.volumes for word in ("--volume", volume)]
        where = ["--file", str(build.containerfile), str(build.folder)]
        self._run(build.tag, "build", "--tag", build.tag, *arguments, *volumes, *where)

    def push(self, tag: str, target: str) -> str:
        """Copies an image to a registry: the digest, `sha256:...`, that it has there. Raises Refusal."""
        if self.name == "docker":
            self._run(target, "tag", tag, target)
            self._run(target, "push", target)
            return self._docker_digest(target)
        with TemporaryDirectory() as folder:
            file = Path(folder) / "digest"
            self._run(target, "push", "--digestfile", str(file), tag, f"docker://{target}")
            return file.read_text(encoding="utf-8").strip()

    def _docker_digest(self, target: str) -> str:
        shown = subprocess.run(
            [self.name, "inspect", "--format", "{{json .RepoDigests}}", target], capture_output=True, check=True
        )
        name = target.rpartition(":")[0].removeprefix("docker.io/").removeprefix("library/")  # as docker tells it
        digests = dict(str(one).split("@") for one in json.loads(shown.stdout))
        return digests[name]

    def _run(self, image: str, *words: str) -> None:
        last: deque[str] = deque(maxlen=LINES_TOLD)
        with subprocess.Popen(
            [self.name, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace",
        ) as process:  # fmt: skip
            assert process.stdout
            for line in process.stdout:
                self.say(line.rstrip())
                last.append(line.rstrip())
        if process.returncode == 0:
            return
        said = "\n".join(f"  {line}" for line in last if line)
        remedy = f"correct that, and give the command again; {self.name} said last:\n{said}"
        if words[0] == "push" and REFUSED.search(said):
            remedy = f"`{self.name} login {image.partition('/')[0]}` first; {self.name} said last:\n{said}"
        what = f"`{self.name} {words[0]}` failed with exit code {process.returncode}"
        raise Refusal([Problem(image, what, remedy)])
