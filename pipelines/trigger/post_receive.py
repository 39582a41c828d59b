#!/usr/bin/env python3
"""post-receive hook of a bare repository: tells Argo's server of each push, signed, as GitHub would.

Put it into the repository as hooks/post-receive, executable. It needs git 2.31 and Python 3.9, nothing else. Its
settings are the repository's:

    git config argosy.server https://argo.example.org    Argo's server
    git config argosy.namespace vision                   the namespace whose pipelines listen
    git config argosy.secretFile /etc/argosy/webhook     file that holds the secret, and nothing else
    git config argosy.caFile /etc/argosy/ca.pem          certificates that verify the server; without it the system's
    git config argosy.repository vision/digits           name that pipelines know; without it the folder's

A push never fails because of it: what goes wrong is told to whoever pushes.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import os
import re
import shlex
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_BYTES = 1 << 20
"""Argo's server takes twice as much."""

MOST_COMMITS = 2048
"""As many as GitHub lists; whoever reads of so many knows that there may be more."""

PAUSES = (0.5, 1.0, 2.0)
"""Seconds before each further try."""

TIMEOUT = 5.0
"""Seconds that the server has for an answer."""

CLIPPED = 200
"""Characters of a commit's message where there is no room for it."""

MESSAGE = 500
"""Characters of a server's message that a person is shown."""

KNOWN = "already exists"
"""What Kubernetes says of a run that an earlier delivery of the same commit has made."""

FIELDS = "%H%x00%an%x00%ae%x00%aI%x00%B%x00"
ADDRESS = re.compile(r"https?://[^\s@/?#]+(/[^\s@?#]*)?")
STATUS = re.compile(r"[A-Z][0-9]*")
KINDS = {"A": "added", "D": "removed"}


class HookError(Exception):
    """The server cannot be told of a push; the message says why."""


def main() -> None:
    for line in map(os.fsdecode, sys.stdin.buffer):
        before, after, ref = line.rstrip("\n").split(" ", 2)
        kind, _, name = ref.removeprefix("refs/").partition("/")
        if kind not in ("heads", "tags"):
            continue
        try:
            say(name, told(before, after, ref))
        except (HookError, OSError, ValueError, http.client.HTTPException) as error:
            say(name, f"no run was asked for: {error}")
            say(name, f"to ask again, in {Path.cwd()}: echo {before} {after} {shlex.quote(ref)} | hooks/post-receive")


def say(name: str, message: str) -> None:
    sys.stdout.write(f"argosy: {printable(name)}: {printable(message)}\n")
    sys.stdout.flush()


def printable(text: str) -> str:
    """Text from elsewhere without what a terminal would obey."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def told(before: str, after: str, ref: str) -> str:
    """Tell the server of a push; says what was asked for. Raises HookError."""
    if is_none(after):
        return "deleted, so there is nothing to run"
    payload = push(before, after, ref)
    answer = deliver(encoded(payload))
    runs = f"pipelines that listen to it run as NAME-{payload['head_commit']['id'][:12]}"
    return f"told Argo; {runs}" + (f"; it answers: {answer}" if answer else "")


def push(before: str, after: str, ref: str) -> dict[str, Any]:
    """A push as GitHub describes it."""
    commit = git("rev-parse", "--verify", f"{after}^{{commit}}").strip()
    is_branch = ref.startswith("refs/heads/")
    is_new = is_none(before)
    head = next(commits("--max-count=1", commit))
    return {
        "ref": ref,
        "before": before,
        "after": after,
        "created": is_new,
        "deleted": False,
        "forced": is_branch and not is_new and not is_ancestor(before, after),
        "repository": {"full_name": setting("repository") or Path.cwd().resolve().name.removesuffix(".git")},
        "pusher": {"name": head["author"]["name"]},
        "commits": list(commits("--reverse", *new_commits(before, commit, ref))) if is_branch else [],
        "head_commit": head,
    }


def new_commits(before: str, commit: str, ref: str) -> list[str]:
    """The commits that came with a push: of a new branch those that no other ref has."""
    excluded = [f"--exclude={ref}", "--all"] if is_none(before) else [before]
    return [f"--max-count={MOST_COMMITS}", commit, "--not", *excluded]


def commits(*which: str) -> Iterator[dict[str, Any]]:
    """Commits with the paths that each touches; a merge touches what it brings to the branch."""
    how = ["-z", "--root", "--name-status", "--no-renames", "--diff-merges=first-parent", "--no-mailmap", "--no-color"]
    how += ["--no-show-signature", "--no-notes", "--no-ext-diff", f"--format={FIELDS}"]
    words = iter(git("log", *how, *which, "--").split("\0"))
    word = next(words, "")
    while word:
        author, email, date, message = (next(words) for _ in range(4))
        commit: dict[str, Any] = {"id": word, "message": message.rstrip("\n"), "timestamp": date}
        commit |= {"author": {"name": author, "email": email}, "added": [], "modified": [], "removed": []}
        word = next(words, "").lstrip("\n") or next(words, "").lstrip("\n")
        while STATUS.fullmatch(word):
            commit[KINDS.get(word[0], "modified")].append(next(words))
            word = next(words, "").lstrip("\n")
        yield commit


def is_none(commit: str) -> bool:
    return not commit.strip("0")


def is_ancestor(before: str, after: str) -> bool:
    command = ["git", "merge-base", "--is-ancestor", before, after]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def git(*words: str) -> str:
    done = subprocess.run(["git", *words], capture_output=True, check=False)  # noqa: S607 - the git that runs the hook
    if done.returncode != 0:
        raise HookError(f"git {words[0]}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout.decode(errors="replace")


def setting(name: str, *, path: bool = False) -> str:
    """A setting of the repository; empty where there is none."""
    command = ["git", "config", *(["--type=path"] if path else []), "--get", f"argosy.{name}"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.rstrip("\n")


def needed(name: str, *, path: bool = False) -> str:
    value = setting(name, path=path)
    if not value:
        raise HookError(f"argosy.{name} is not set; `git config argosy.{name} VALUE` in the repository sets it")
    return value


def encoded(payload: dict[str, Any]) -> bytes:
    """As JSON that the server takes. Messages go first, then the commits: without them every path may be touched."""
    body = json.dumps(payload).encode()
    if len(body) > MOST_BYTES:
        head = payload["head_commit"]
        bare = [{**one, "message": "", "author": {}} for one in payload["commits"]]
        payload = {**payload, "head_commit": {**head, "message": head["message"][:CLIPPED]}, "commits": bare}
        body = json.dumps(payload).encode()
    if len(body) > MOST_BYTES:
        head = {**payload["head_commit"], "added": [], "modified": [], "removed": []}
        body = json.dumps({**payload, "head_commit": head, "commits": []}).encode()
    return body


def deliver(body: bytes) -> str:
    """Post it, signed, until the server has taken it; what it says of a run that is there already. Raises HookError."""
    url = f"{address()}/api/v1/events/{urllib.parse.quote(needed('namespace'), safe='')}/push"
    opener, headers = urllib.request.build_opener(trust(), NoRedirect), signed(body)
    for pause in (*PAUSES, None):
        try:
            request = urllib.request.Request(url, body, headers)  # noqa: S310 - http or https, see ADDRESS
            opener.open(request, timeout=TIMEOUT).close()
        except urllib.error.HTTPError as error:
            message = said(error)
            if KNOWN in message:
                return message
            if pause is None or not (error.code == 429 or error.code >= 500):
                raise HookError(refusal(error.code, message)) from error
        except OSError as error:  # URLError and timeouts among them
            reason = getattr(error, "reason", error)
            if pause is None or isinstance(reason, ssl.SSLCertVerificationError):
                raise HookError(f"{address()}: {reason}") from error
        else:
            return ""
        time.sleep(pause)
    raise AssertionError("the last pause is none")


def said(error: urllib.error.HTTPError) -> str:
    """The message of Argo's server, which is JSON; empty if something else answered."""
    try:
        answer = json.loads(error.read(MOST_BYTES))
        return str(answer["message"])[:MESSAGE]
    except (OSError, ValueError, TypeError, KeyError):
        return ""


def signed(body: bytes) -> dict[str, str]:
    """A delivery's headers, the same for every try."""
    signature = hmac.new(secret(), body, hashlib.sha256).hexdigest()
    return {
        "Content-Type": "application/json",
        "User-Agent": "argosy-post-receive",
        "X-GitHub-Event": "push",
        "X-GitHub-Delivery": str(uuid.uuid4()),
        "X-Hub-Signature-256": f"sha256={signature}",
    }


def address() -> str:
    server = needed("server").rstrip("/")
    if not ADDRESS.fullmatch(server):  # and not told, since it may hold a password
        raise HookError("argosy.server is no address; set it to https://HOST:PORT")
    return server


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirected push would arrive without its body."""

    def redirect_request(self, *_: object, **__: object) -> None:
        return None


def secret() -> bytes:
    file = Path(needed("secretFile", path=True))
    content = file.read_bytes().rstrip(b"\r\n")
    if not content:
        raise HookError(f"{file} is empty; write the secret into it")
    return content


def trust() -> urllib.request.HTTPSHandler:
    file = setting("caFile", path=True)
    try:
        return urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=file or None))
    except OSError as error:  # ssl.SSLError among them
        raise HookError(f"argosy.caFile: {file}: {error.strerror or error}") from error


def refusal(code: int, message: str) -> str:
    if code in (401, 403):
        where = f"argo-workflows-webhook-clients in namespace {setting('namespace')}"
        return f"the server refuses the signature ({code}); is the secret the one in Secret {where}?"
    return f"{setting('server')} answers {code}: {message or 'is it the address of Argo?'}"


if __name__ == "__main__":
    main()
