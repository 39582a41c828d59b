"""Argo's own linter, where it is installed."""

import shutil
import subprocess
from tempfile import NamedTemporaryFile

from argosy.pipelines.errors import Problem


def argo_lint(manifest: str) -> list[Problem]:
    """What `argo lint --offline` says of a manifest's text; nothing where there is no argo.

    It is no part of compiling, since it takes seconds for a chain of a thousand tasks.
    """
    argo = shutil.which("argo")
    if argo is None:
        return []
    with NamedTemporaryFile("w", encoding="utf-8", suffix=".yaml") as file:  # of a pipe argo reads nothing
        file.write(manifest)
        file.flush()
        command = [argo, "lint", "--offline", "--output", "simple", file.name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return []
    said = (done.stdout.strip() or done.stderr.strip()).splitlines()
    return [Problem("argo lint", one.partition(": ")[2] or one, "see Argo's field reference") for one in said]
