"""The artifact repository of one run: a folder.

A file or folder goes in as it is. Argo packs it, and unpacks it again at the other side
(workflow/executor/executor.go:258, 1177); the consumer sees the same.
"""

import shutil
from pathlib import Path

from argosy.pipelines.local.paths import within
from argosy.pipelines.manifest import Artifact
from argosy.pipelines.status import File


class ArtifactError(ValueError):
    """An artifact that is not there."""


class Repository:
    def __init__(self, folder: Path, workflow: str) -> None:
        self._folder = folder
        self._workflow = workflow

    def save(self, artifact: Artifact, source: Path, pod: str) -> File | None:
        """Keep what a pod wrote. None: an optional artifact that it did not write.

        Raises ArtifactError for any other that is missing.
        """
        if not source.exists():
            if artifact.optional:
                return None
            raise ArtifactError(f"output artifact {artifact.name!r}: {artifact.path} does not exist after the step")
        # Argo names what it does not pack after its file (workflow/executor/executor.go:483).
        is_unpacked = artifact.archive is not None and "none" in artifact.archive
        name = Path(artifact.path or "").name if is_unpacked else f"{artifact.name}.tgz"
        key = artifact.s3.key if artifact.s3 else f"{self._workflow}/{pod}/{name}"
        _copy(source, within(self._folder, key))
        return File(
            artifact.name, artifact.path, {"key": key}, archive=artifact.archive, global_name=artifact.global_name
        )

    def load(self, artifact: Artifact, target: Path) -> None:
        """Put an input artifact where the pod expects it. Raises ArtifactError where the repository lacks it."""
        if artifact.raw:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(artifact.raw.data)
        elif artifact.s3:
            source = within(self._folder, artifact.s3.key)
            if not source.exists():
                raise ArtifactError(f"input artifact {artifact.name!r}: the repository has no {artifact.s3.key}")
            _copy(source, target)
        if artifact.mode is not None and target.exists():
            target.chmod(artifact.mode)


def _copy(source: Path, target: Path) -> None:
    try:
        if target.is_dir():
            shutil.rmtree(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, symlinks=True)
        else:
            shutil.copy2(source, target)
    except shutil.Error as error:  # pipes and devices cannot be kept, nor a folder in itself
        raise ArtifactError(f"artifact {target.name}: {error}") from error
