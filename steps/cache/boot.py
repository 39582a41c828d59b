"""What an unclean end of the machine may have spoilt: bytes that were written, and never reached the disk.

Views are on the disk before they get their name. Blobs are not, until a view holds them.
"""

import platform
import subprocess
from contextlib import nullcontext
from pathlib import Path

from argosy.steps import files
from argosy.steps.cache import locks, trash
from argosy.steps.cache.blobs import JOURNAL, PART, Blobs
from argosy.steps.cache.layout import Layout

LINUX = Path("/proc/sys/kernel/random/boot_id")


def identity() -> str:
    """What names the machine's boot; empty: nothing does."""
    if LINUX.exists():
        return LINUX.read_text().strip()
    if platform.system() == "Darwin":
        words = ["/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"]
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()
    return ""


def forget_unsynced(layout: Layout, blobs: Blobs, *, locks_work: bool) -> None:
    """Once in each boot: blobs that no view holds, and beginnings of large ones, are removed."""
    now = identity()
    if _last(layout) == now:
        return
    guard = (
        locks.exclusive(layout.locks / "boot", "removes what the last boot has left") if locks_work else nullcontext()
    )
    with guard:
        if _last(layout) == now:
            return
        for md5, status in blobs.scan():
            if status.st_nlink == 1:
                blobs.remove(md5)
        for leftover in layout.partial.iterdir():
            if leftover.suffix in (PART, JOURNAL):
                trash.remove(leftover, layout)
        files.write_text(layout.boot, now)


def _last(layout: Layout) -> str | None:
    try:
        return layout.boot.read_text()
    except FileNotFoundError:
        return None
