"""Container images for a machine that reaches no registry: built by buildah, lent to containerd."""

import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from testcluster.paths import IMAGES

BASE = "localhost/debian:bookworm"
SMALL = "localhost/python:bookworm"
PACKAGES = "python3,python3-venv,ca-certificates,git"

# Not root's default driver everywhere; crun and runc both want more of a machine than a chroot does.
BUILDAH = {"STORAGE_DRIVER": "overlay", "BUILDAH_ISOLATION": "chroot"}
LAYERS = Path("/var/lib/containers/storage")
"""Where buildah keeps root's images (containers-storage.conf(5), graphroot)."""

SETTINGS = {
    "/etc/ssl/certs": "/etc/ssl/certs",
    "/etc/pip.conf": "/etc/pip.conf",
    "~/.config/pip/pip.conf": "/etc/pip.conf",
    "~/.config/uv/uv.toml": "/etc/uv/uv.toml",
}
"""How this machine reaches package indexes, and where an image's builder looks for it."""

Ctr = Callable[..., str]
"""A command of containerd's client, in the namespace of Kubernetes."""


def base_image() -> str:
    """Debian's Python as an image; made once."""
    if not _has(BASE):
        IMAGES.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=IMAGES) as folder:
            _run("debootstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm", f"{folder}/root")
            _run("rm", "-rf", f"{folder}/root/var/cache/apt", f"{folder}/root/var/lib/apt/lists")
            container = _run("buildah", "from", "scratch").strip()
            _run("buildah", "copy", "--quiet", container, f"{folder}/root", "/")
            _run("buildah", "commit", "--quiet", "--rm", container, BASE)
    return BASE


def small_image() -> str:
    """The same with `python` beside `python3`: for pods that are small."""
    if not _has(SMALL):
        container = _run("buildah", "from", base_image()).strip()
        _run("buildah", "run", container, "ln", "-s", "python3", "/usr/bin/python")
        _run("buildah", "commit", "--quiet", "--rm", container, SMALL)
    return SMALL


def project_image(project: Path) -> str:
    """A project's image, of its files as they are; the tiers below are made once."""
    cache = _run(sys.executable, "-m", "uv", "cache", "dir").strip()
    volumes = [f"{cache}:/mnt/uv", *_settings()]
    tag = _run(
        str(Path(sys.executable).with_name("argosy")), "images", "build", "--engine=buildah", "--dirty",
        f"--base={base_image()}", "--build-arg=SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt",
        "--build-arg=UV_CACHE_DIR=/mnt/uv", *(f"--volume={one}" for one in volumes), folder=project,
    )  # fmt: skip
    return f"localhost/{tag.strip()}"


def lend(image: str, name: str, ctr: Ctr) -> str:
    """Give buildah's image to containerd under a name with its registry, which pods may leave out if it is `docker.io`.
    Its digest.

    No byte of a layer is copied: containerd gets manifest and configuration, and finds each layer unpacked already, in
    a snapshot that is a link to buildah's own folder. That saves minutes and the room of two more copies. Neither
    changes a layer that it has. What was lent must stay in buildah's storage
    for as long as containerd's root lasts.
    """
    shown = json.loads(_run("buildah", "inspect", "--type", "image", image))
    manifest, config = shown["Manifest"].encode(), shown["Config"].encode()
    layers = json.loads((LAYERS / "overlay-layers" / "layers.json").read_text())
    # A layer that is being built has no digest yet.
    folders = {one["diff-digest"]: LAYERS / "overlay" / one["id"] / "diff" for one in layers if "diff-digest" in one}
    known = {line.split()[0] for line in ctr("snapshots", "list").splitlines()}
    for layer, chain, parent in _chain(json.loads(config)["rootfs"]["diff_ids"]):
        if chain not in known:
            _lend_layer(folders[layer], chain, parent, ctr)
    with TemporaryDirectory() as folder:
        archive = Path(folder) / "image.tar"
        _write_archive(archive, name, manifest, config)
        ctr("images", "import", "--no-unpack", "--digests", f"--base-name={name.rpartition(':')[0]}", str(archive))
    return _digest(manifest)


def _chain(layers: list[str]) -> Iterator[tuple[str, str, str]]:
    """Each layer, the identifier of the snapshot on top of it, and that of the one below (OCI image-spec, ChainID)."""
    chain = ""
    for layer in layers:
        parent, chain = chain, _digest(f"{chain} {layer}".encode()) if chain else layer
        yield layer, chain, parent


def _lend_layer(folder: Path, chain: str, parent: str, ctr: Ctr) -> None:
    mount = json.loads(ctr("snapshots", "prepare", "--mounts", f"lent-{chain}", *filter(None, [parent])))[0]
    options = dict(one.partition("=")[::2] for one in mount["Options"])
    place = Path(options.get("upperdir", mount["Source"]))
    place.rmdir()
    place.symlink_to(folder)
    ctr("snapshots", "commit", chain, f"lent-{chain}")


def _write_archive(archive: Path, name: str, manifest: bytes, config: bytes) -> None:
    """An OCI archive without layers."""
    described = {
        "mediaType": json.loads(manifest)["mediaType"],
        "digest": _digest(manifest),
        "size": len(manifest),
        "annotations": {"io.containerd.image.name": name},
    }
    blobs = {f"blobs/sha256/{_digest(one).partition(':')[2]}": one for one in (manifest, config)}
    files = {
        "oci-layout": b'{"imageLayoutVersion": "1.0.0"}',
        "index.json": json.dumps({"schemaVersion": 2, "manifests": [described]}).encode(),
    }
    with tarfile.open(archive, "w") as tar:
        for path, data in {**files, **blobs}.items():
            member = tarfile.TarInfo(path)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _settings() -> list[str]:
    pairs = [(Path(here).expanduser(), there) for here, there in SETTINGS.items()]
    found = {there: here for here, there in pairs if here.exists()}
    return [f"{here}:{there}:ro" for there, here in found.items()]


def _has(image: str) -> bool:
    command = ["buildah", "inspect", "--type", "image", image]
    return subprocess.run(command, env=os.environ | BUILDAH, capture_output=True, check=False).returncode == 0


def _run(*words: str, folder: Path | None = None) -> str:
    """What a command prints; what it says on standard error is shown, for a build takes minutes."""
    return subprocess.run(
        words, cwd=folder, env=os.environ | BUILDAH, stdout=subprocess.PIPE, text=True, check=True
    ).stdout
