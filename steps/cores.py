"""How many processors this process may use."""

import os
import sys
from pathlib import Path

QUOTA = Path("/sys/fs/cgroup/cpu.max")


def usable() -> int:
    """Cores that this pod may use: a CPU limit is a quota, which the count of cores does not show."""
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    try:
        quota, period = QUOTA.read_text(encoding="ascii").split()
        return min(cores, max(1, int(quota) // int(period)))
    except (OSError, ValueError):  # no cgroup v2, or `max`: no limit
        return cores
