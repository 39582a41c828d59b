"""An S3 server on this machine whose buckets are the folders of a folder, and which fails on demand.

    with objectstore.serving(folder) as store:      # folder/BUCKET/KEY are its objects
        store.set(shares={"slow-down": 0.2}, objects={"bucket/key": {"kind": "wrong", "times": 2}})
        subprocess.run(..., env=os.environ | store.environment)
        assert store.counters()["peak_in_flight"] <= 32

The kinds of faults, and what can be set, stand in `server/faults.go`; what is counted in `server/counters.go`. The
server needs Go to be built, once; it ends with the process that has started it.
"""

import fcntl
import json
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).parent / "server"
PROGRAM = Path(__file__).parents[2] / "build" / "objectstore" / "objectstore"
ACCESS, SECRET = "argosy-test", "a-secret-that-nobody-may-see"


def missing() -> str:
    """Why the server cannot be had here; empty if it can."""
    return "" if shutil.which("go") else "the S3 server was not built: there is no go command"


def program() -> Path:
    """The server, built anew where its sources have changed. Two that come at once build it once."""
    PROGRAM.parent.mkdir(parents=True, exist_ok=True)
    with (PROGRAM.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        newest = max(source.stat().st_mtime for source in SOURCES.iterdir())
        if not PROGRAM.exists() or PROGRAM.stat().st_mtime < newest:
            part = PROGRAM.with_suffix(".part")
            subprocess.run(["go", "build", "-o", part, "."], cwd=SOURCES, check=True)
            part.rename(PROGRAM)
    return PROGRAM


@dataclass(frozen=True)
class ObjectStore:
    """A server that runs."""

    address: str
    pid: int

    @property
    def environment(self) -> dict[str, str]:
        """What leads S3 clients here."""
        return {
            "AWS_ENDPOINT_URL": self.address,
            "AWS_ACCESS_KEY_ID": ACCESS,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def set(self, **faults: Any) -> None:
        """From now on these faults and no others: `latency_ms`, `most_at_a_time`, `seed`, `shares`, `objects`."""
        self._ask("PUT", "/-/faults", json.dumps(faults).encode())

    def counters(self) -> dict[str, Any]:
        """What was asked for: `requests`, `bytes`, `methods`, `reads`, `faults`, `in_flight`, `peak_in_flight`."""
        counted: dict[str, Any] = json.loads(self._ask("GET", "/-/counters"))
        return counted

    def count_anew(self) -> None:
        self._ask("DELETE", "/-/counters")

    def _ask(self, method: str, path: str, body: bytes | None = None) -> bytes:
        request = urllib.request.Request(self.address + path, data=body, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=60) as answer:
                content: bytes = answer.read()
                return content
        except urllib.error.HTTPError as error:
            raise ValueError(error.read().decode()) from None


@contextmanager
def serving(folder: Path, *, require_key: bool = False, address: str = "127.0.0.1:0") -> Iterator[ObjectStore]:
    """A server over a folder. `require_key`: it refuses with 403 whoever does not come with the key `ACCESS`."""
    words = [program(), "-root", folder, "-address", address, *(["-require-key", ACCESS] if require_key else [])]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield ObjectStore(process.stdout.readline().strip(), process.pid)
        finally:
            process.kill()
