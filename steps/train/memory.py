"""Whether the kernel killed a process for want of memory: its counter in this process's control group.

https://docs.kernel.org/admin-guide/cgroup-v2.html (memory.events), .../cgroup-v1/memory.html (memory.oom_control)
"""

import re
from dataclasses import dataclass
from pathlib import Path

UNLIMITED = 1 << 60  # cgroup v1 has no word for it, but a number near the largest


@dataclass(frozen=True)
class Memory:
    """Of the pod that this process is in."""

    counter: Path | None
    limit: Path | None

    def kills(self) -> int:
        """Processes of this pod that were killed for want of memory, ever; 0 where nothing counts them."""
        found = re.search(r"^oom_kill (\d+)$", _text(self.counter), re.MULTILINE)
        return int(found[1]) if found else 0

    def limit_words(self) -> str:
        """` (limit 4Gi)`, as Kubernetes writes quantities; empty: there is none."""
        text = _text(self.limit).strip()
        if not text.isdigit() or int(text) >= UNLIMITED:
            return ""
        gibibytes, rest = divmod(int(text), 1 << 30)
        return f" (limit {int(text) / (1 << 20):.0f}Mi)" if rest else f" (limit {gibibytes}Gi)"


def of_this_pod(root: Path = Path("/")) -> Memory:
    """Read where this process's control group says, or, in a container that sees its own alone, at the top."""
    v1, v2 = root / "sys/fs/cgroup/memory", root / "sys/fs/cgroup"
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, name = line.split(":", 2)
        if "memory" in controllers.split(","):
            folders, counter, limit = (v1 / name.strip("/"), v1), "memory.oom_control", "memory.limit_in_bytes"
        elif not controllers:
            folders, counter, limit = (v2 / name.strip("/"), v2), "memory.events", "memory.max"
        else:
            continue
        for folder in folders:
            if (folder / counter).exists():
                return Memory(folder / counter, folder / limit)
    return Memory(None, None)


def _text(path: Path | None) -> str:
    try:
        return path.read_text(encoding="ascii") if path else ""
    except OSError:
        return ""
