"""requirements.lock of a project: what its pods import, pinned and hashed, for every platform at once."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from argosy.pipelines.errors import Problem, Refusal
from argosy.pipelines.images.project import LOCK, Definition


def freeze(folder: Path, definition: Definition) -> Path:
    """Writes it anew, with the newest versions that fit. Raises Refusal where uv is missing, or finds none."""
    if importlib.util.find_spec("uv") is None:
        raise Refusal([Problem(LOCK, "is resolved by uv, which is not installed here", "`pip install uv`")])
    with TemporaryDirectory() as temporary:
        wanted, found = Path(temporary) / "requirements.in", Path(temporary) / LOCK
        # uv installs the rest in the image, so it is pinned as well.
        wanted.write_text("\n".join([*definition.requirements(), "uv"]), encoding="utf-8")
        command = [
            sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--universal", "--generate-hashes",
            "--no-emit-index-url", "--no-annotate", "--no-header", "--python-version", definition.oldest_python,
            "--output-file", str(found), str(wanted),
        ]  # fmt: skip
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, errors="replace", check=False)
        if done.returncode != 0:
            raise Refusal([Problem(str(folder / "pyproject.toml"), done.stderr.strip(), "correct its requirements")])
        (folder / LOCK).write_bytes(found.read_bytes())
    return folder / LOCK
