"""A git repository elsewhere, and the commit of it that is wanted here."""

import os
import re
import subprocess
from pathlib import Path

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError, configuration_error, data_error
from argosy.steps.git import git

NETRC = ".netrc"
"""Where git finds a name and password for a host: in the folder that HOME names (curl: CURLOPT_NETRC)."""

SETTINGS = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "GIT_ALLOW_PROTOCOL": "https:http:git:file",
    "LC_ALL": "C",  # what git says is read below
}
REFUSED = re.compile(
    r"Authentication failed|could not read (Username|Password)|terminal prompts disabled|Permission denied|"
    r"returned error: 40[0134]|[Rr]epository .*not found|does not appear to be a git repository|"
    r"transport '\w+' not allowed|SSL certificate|dubious ownership"
)
UNGIVEN = re.compile(r"not our ref|unadvertised object|couldn't find remote ref|dumb http")
"""What git says where a server has no commit of this hash, or gives none by its hash (git: upload-pack.c)."""

SHA1_DIGITS = 40


class Repository:
    """Fetches into a folder, from an address."""

    def __init__(self, folder: Path, address: str, credentials: Path) -> None:
        """`credentials` is a folder that may hold a .netrc; without one, git finds what this machine gives it."""
        self._folder = folder
        self._address = address
        home = {"HOME": str(credentials)} if (credentials / NETRC).is_file() else {}
        self._environment = {**os.environ, **SETTINGS, **home}

    def fetch(self, commit: str) -> None:
        """Gets one commit alone; everything, where the server gives no commit by its hash.

        Raises StepError: DATA when it has no such commit, CONFIGURATION when it refuses, TEMPORARY for all else.
        """
        kind = "sha1" if len(commit) == SHA1_DIGITS else "sha256"
        self._done("init", "--quiet", "--template=", f"--object-format={kind}")
        alone = self._git("fetch", "--quiet", "--no-tags", "--depth=1", "--", self._address, commit)
        if alone.returncode == 0:
            return
        if not UNGIVEN.search(_text(alone.stderr)):
            raise self._failure(_text(alone.stderr))
        everything = self._git("fetch", "--quiet", "--no-tags", "--", self._address, "+refs/*:refs/fetched/*")
        if everything.returncode:
            raise self._failure(_text(everything.stderr))
        if self._git("cat-file", "-e", f"{commit}^{{commit}}").returncode:
            raise data_error(f"revision {commit}: {self._address} has no such commit; push it, or name another")

    def read(self, commit: str, path: str) -> str | None:
        """The text of a file at a commit; None where there is no such file."""
        shown = self._git("cat-file", "blob", f"{commit}:{path}")
        return _text(shown.stdout) if shown.returncode == 0 else None

    def check_out(self, commit: str) -> None:
        """Puts the commit's files in the folder."""
        self._done("-c", "advice.detachedHead=false", "checkout", "--quiet", "--force", "--detach", commit)

    def _done(self, *arguments: str) -> None:
        done = self._git(*arguments)
        if done.returncode:
            raise StepError(ExitCode.TEMPORARY, f"{self._folder}: {_cause(_text(done.stderr))}")

    def _git(self, *arguments: str) -> "subprocess.CompletedProcess[bytes]":
        return git(self._folder, *arguments, environment=self._environment)

    def _failure(self, said: str) -> StepError:
        if REFUSED.search(said):
            remedy = "see the address, and the Secret that holds its .netrc"
            return configuration_error(f"{self._address}: may not be read: {_cause(said)}; {remedy}")
        return StepError(ExitCode.TEMPORARY, f"{self._address}: cannot be fetched: {_cause(said)}")


def _text(output: bytes) -> str:
    return output.decode(errors="replace")


def _cause(said: str) -> str:
    """What git says is wrong: its first line that begins so, else all of it."""
    found = (line for line in said.splitlines() if line.startswith(("fatal:", "error:")))
    return next(found, " ".join(said.split()))
