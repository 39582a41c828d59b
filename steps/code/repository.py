"""A git repository elsewhere, and the commit of it that is wanted here."""

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
    # Less than a byte a second: the server keeps the connection and says nothing.
    "GIT_HTTP_LOW_SPEED_LIMIT": "1",
    "GIT_HTTP_LOW_SPEED_TIME": "300",
    "LC_ALL": "C",  # what git says is read below
}
REFUSED = re.compile(
    r"Authentication failed|could not read (Username|Password)|terminal prompts disabled|Permission denied|"
    r"returned error: 40[0134]|[Rr]epository .*not found|does not appear to be a git repository|"
    r"transport '\w+' not allowed|SSL certificate|dubious ownership|bad/illegal format|"
    r"access denied or repository not exported"
)
UNGIVEN = re.compile(r"not our ref|unadvertised object|couldn't find remote ref|dumb http")
"""What git says where a server has no commit of this hash, or gives none by its hash (git: upload-pack.c)."""

OTHER_HASHES = "mismatched algorithms"
"""What git says where the repository's hashes are of the other kind (git: connect.c)."""

SHA1_DIGITS = 40

SUBMODULE = "160000 "
"""How git's list of files begins the line of a commit of another repository (gitformat-index(5))."""


class Repository:
    """Fetches into a folder, from an address."""

    def __init__(self, folder: Path, address: str, credentials: Path) -> None:
        """`credentials` is a folder that may hold a .netrc; without one, git finds what this machine gives it."""
        self._folder = folder
        self._address = address
        home = {"HOME": str(credentials)} if (credentials / NETRC).is_file() else {}
        self._environment = SETTINGS | home

    def fetch(self, commit: str) -> None:
        """Gets one commit alone; everything, where the server gives no commit by its hash.

        Raises StepError: DATA when it has no such commit, CONFIGURATION when it refuses, TEMPORARY for all else.
        """
        kind = "sha1" if len(commit) == SHA1_DIGITS else "sha256"
        self._done("init", "--quiet", "--template=", f"--object-format={kind}")
        alone = self._git("fetch", "--quiet", "--no-tags", "--depth=1", "--", self._address, commit)
        if alone.returncode:
            self._fetch_everything(_text(alone.stderr))
        if self._git("cat-file", "-e", f"{commit}^{{commit}}").returncode:
            raise data_error(f"revision {commit}: {self._address} has no such commit; push it, or name another")

    def read(self, commit: str, path: str) -> str | None:
        """The text of a file at a commit; None where there is no such file."""
        shown = self._git("cat-file", "blob", f"{commit}:{path}")
        return _text(shown.stdout) if shown.returncode == 0 else None

    def check_out(self, commit: str) -> None:
        """Puts the commit's files in the folder."""
        self._done("-c", "advice.detachedHead=false", "checkout", "--quiet", "--detach", commit)

    def left_out(self) -> list[str]:
        """Paths that are checked out without what belongs there: submodules, and files that Git LFS keeps elsewhere."""
        listed = _text(self._git("ls-files", "-z", "--stage").stdout).split("\0")
        kept_elsewhere = _text(self._git("ls-files", "-z", "--", ":(attr:filter=lfs)").stdout).split("\0")
        submodules = [line.partition("\t")[2] for line in listed if line.startswith(SUBMODULE)]
        return [*submodules, *filter(None, kept_elsewhere)]

    def _fetch_everything(self, why: str) -> None:
        """All that the server shows to anybody, where that may help against what it said to the first try."""
        if not UNGIVEN.search(why):
            raise self._failure(why)
        everything = self._git("fetch", "--quiet", "--no-tags", "--", self._address, "+refs/*:refs/fetched/*")
        if everything.returncode:
            raise self._failure(_text(everything.stderr))

    def _done(self, *arguments: str) -> None:
        done = self._git(*arguments)
        if done.returncode:
            raise StepError(ExitCode.TEMPORARY, f"{self._folder}: {_cause(_text(done.stderr))}")

    def _git(self, *arguments: str) -> "subprocess.CompletedProcess[bytes]":
        return git(self._folder, *arguments, environment=self._environment)

    def _failure(self, said: str) -> StepError:
        if OTHER_HASHES in said:
            return data_error(f"{self._address}: its hashes are not as long as the revision's; name one of its commits")
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
