"""A process that fetches, to be killed and measured: `fetcher.py URL HASH CACHE {PACE}`.

It prints how many bytes it has fetched and its most resident memory; a refusal is printed and is its exit code.
"""

import json
import resource
import signal
import sys
from pathlib import Path

from argosy.steps.cache.blobs import Blobs
from argosy.steps.errors import StepError, Terminated
from argosy.steps.pins import PinnedSource, Remote
from argosy.steps.stage import listing, store
from argosy.steps.stage.fetch import Wanted, fetch
from argosy.steps.stage.pace import Pace


def most_memory():
    """Most resident bytes. On Linux ru_maxrss also counts the process that has started this one (fork, then exec)."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def terminate(*_):
    raise Terminated


signal.signal(signal.SIGTERM, terminate)
url, name, cache, pace = sys.argv[1:]
remote = Remote(name="store", url=url)
try:
    opened = store.opened(remote, Path("/nowhere"))
    entries = listing.entries(opened, PinnedSource(path="data", hash=name, remote=remote))
    wanted = [Wanted(one.md5, one.path, opened) for one in entries]
    fetched = fetch(wanted, Blobs(Path(cache)), Pace(**json.loads(pace)), lambda *_: None)
except Terminated:
    sys.exit(143)
except StepError as error:
    sys.exit(f"{int(error.exit_code)} {error.message}")
print(json.dumps({"bytes": fetched.bytes, "memory": most_memory()}))
