"""The three tiers of a project's image, each on top of the one before.

`base` has Python, `framework` what pods import, `project` the code. The lower two are named by what they are made of,
so each is built once, for all projects that agree on it.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from argosy.pipelines.errors import Problem, Refusal
from argosy.pipelines.images import context
from argosy.pipelines.images.engine import Build, Engine
from argosy.pipelines.images.lock import Entry
from argosy.pipelines.images.project import Definition

TIERS = ("base", "framework", "project")
LOCAL = "localhost"
"""Registry of images that are in none: no engine goes looking for them elsewhere."""

SHORT = 12
"""Hexadecimal digits that tell commits and contents apart."""


@dataclass(frozen=True)
class Given:
    """What a build is given beside the project."""

    base: str | None = None
    """The image below the lowest tier; None: the one that its Containerfile names."""
    arguments: Mapping[str, str] = field(default_factory=dict)
    volumes: Sequence[str] = ()


@dataclass(frozen=True)
class Images:
    """A project's images at a revision, in an engine."""

    folder: Path
    definition: Definition
    revision: str
    """A commit, with `-dirty` for files that differ from it."""
    engine: Engine

    @property
    def tag(self) -> str:
        """`NAME:VERSION-COMMIT` of the highest tier; `+` of a version becomes `_`, since tags have none."""
        commit, _, dirty = self.revision.partition("-")
        name = self.definition.image.replace("+", "_")
        return f"{name}-{commit[:SHORT]}{'-dirty' if dirty else ''}"

    def build(self, first: str, given: Given) -> str:
        """Builds the tiers from `first` on, and those below it that are missing. The tag of the highest.

        Raises Refusal.
        """
        below, is_new = given.base, False
        for tier in TIERS:
            with TemporaryDirectory(prefix="argosy-image-") as temporary:
                made_of = Path(temporary)
                self._lay_out(tier, made_of)
                file = context.containerfile(tier, self.folder)
                tag = f"{LOCAL}/{self.tag if tier == 'project' else _name(tier, below, file, made_of)}"
                is_new = is_new or tier == first
                if is_new or not self.engine.has(tag):
                    self.engine.build(Build(tag, file, made_of, self._arguments(tier, below, given), given.volumes))
                below = tag
        return self.tag

    def push(self, registry: str) -> Entry:
        """Brings the highest tier to a registry. Raises Refusal."""
        if not self.engine.has(f"{LOCAL}/{self.tag}"):
            what = f"{self.engine.name} has no such image"
            raise Refusal([Problem(self.tag, what, "`argosy images build` makes it of the commit")])
        target = f"{registry}/{self.tag}"
        digest = self.engine.push(f"{LOCAL}/{self.tag}", target)
        return Entry(f"{target.rpartition(':')[0]}@{digest}", self.revision)

    def _lay_out(self, tier: str, folder: Path) -> None:
        if tier == "framework":
            context.framework(folder, self.folder, self.definition)
        elif tier == "project":
            context.project(folder, self.folder, self.revision)

    def _arguments(self, tier: str, below: str | None, given: Given) -> dict[str, str]:
        base = {"BASE": below} if below else {}
        labels = {"VERSION": self.definition.project.version, "REVISION": self.revision} if tier == "project" else {}
        return {**given.arguments, **base, **labels}


def _name(tier: str, below: str | None, containerfile: Path, folder: Path) -> str:
    """A name made of all that such an image is made of."""
    digest = hashlib.sha256((below or "").encode())
    for file in (containerfile, *sorted(folder.iterdir())):
        digest.update(b"\0" + file.read_bytes())
    return f"argosy/{tier}:{digest.hexdigest()[:SHORT]}"
