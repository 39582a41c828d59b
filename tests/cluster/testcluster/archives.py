"""Images of one static program, written without an image builder."""

import hashlib
import io
import json
import tarfile
from pathlib import Path

from testcluster.paths import is_newer


def program_image(program: Path, reference: str, archive: Path) -> None:
    """An archive as `docker save` writes it: `/bin/PROGRAM`, which the image starts, and a /tmp for everybody.

    Written unless it is there already, of this program.
    """
    if is_newer(archive, [program]):
        return
    layer = _layer(program)
    config = json.dumps(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": {"Entrypoint": [f"/bin/{program.name}"], "Env": ["PATH=/bin"], "WorkingDir": "/"},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
        }
    ).encode()
    manifest = json.dumps([{"Config": "config.json", "RepoTags": [reference], "Layers": ["layer.tar"]}]).encode()
    archive.parent.mkdir(parents=True, exist_ok=True)
    part = archive.with_suffix(".part")
    with tarfile.open(part, "w") as tar:
        for name, data in {"layer.tar": layer, "config.json": config, "manifest.json": manifest}.items():
            _add(tar, name, data, 0o644)
    part.rename(archive)


def _layer(program: Path) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        folder = tarfile.TarInfo("tmp")
        folder.type, folder.mode = tarfile.DIRTYPE, 0o1777  # argoexec writes there, whoever it runs as
        tar.addfile(folder)
        _add(tar, f"bin/{program.name}", program.read_bytes(), 0o755)
    return buffer.getvalue()


def _add(tar: tarfile.TarFile, name: str, data: bytes, mode: int) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(data), mode
    tar.addfile(member, io.BytesIO(data))
