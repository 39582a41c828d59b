"""Argo's own linter, where it is installed."""

import shutil
import subprocess

from argosy.pipelines.errors import Problem


def argo_lint(manifest: str) -> list[Problem]:
    """What `argo lint --offline` says of a manifest's text; nothing where there is no argo.

    It is no part of compiling, since it takes seconds for a chain of a thousand tasks.
    """
    argo = shutil.which("argo")
    if argo is None:
        return []
    command = [argo, "lint", "--offline", "--output", "simple", "-"]
    done = subprocess.run(command, input=manifest, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return []
    said = (done.stdout.strip() or done.stderr.strip()).splitlines()
    return [Problem("argo lint", one.partition(": ")[2] or one, "see Argo's field reference") for one in said]
