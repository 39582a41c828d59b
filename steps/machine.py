"""The machine that this process runs on, in one line: two results with the same line came from machines alike."""

import os
import platform
import re
import subprocess
import sys
from collections import Counter
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from argosy.steps import cores

CPUINFO = Path("/proc/cpuinfo")
GPUS = Path("/proc/driver/nvidia/gpus")


def fingerprint() -> str:
    """`Linux 6.8.0 x86_64, AMD EPYC 7B13, 8 CPUs, 32 GiB, 1 NVIDIA H200, python 3.11.7, torch 2.9.1`: what is unknown
    is left out. CPUs are those that this process may use; torch is the one that is installed.
    """
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    parts = [
        system,
        _processor(),
        _count(cores.usable(), "CPU"),
        _memory(),
        *_gpus(),
        f"python {platform.python_version()}",
    ]
    return ", ".join(part for part in (*parts, _torch()) if part)


def _processor() -> str:
    if sys.platform == "darwin":
        return _said("/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string")
    # Arm's cpuinfo has no such line, and its model is part of no other file either.
    found = re.search(r"^model name\s*: (.*)$", _text(CPUINFO), re.MULTILINE)
    return " ".join(found[1].split()) if found else platform.processor()


def _memory() -> str:
    """Of the whole machine."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return ""
    return f"{total / 2**30:.0f} GiB" if total > 0 else ""


def _gpus() -> list[str]:
    """As the driver names them; those that torch sees, once it has begun to use them. `2 NVIDIA H200`."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        names = [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]
    else:
        pages = [_text(page) for page in sorted(GPUS.glob("*/information"))]
        names = [found[1].strip() for page in pages if (found := re.search(r"^Model:(.*)$", page, re.MULTILINE))]
    return [f"{count} {name}" for name, count in Counter(names).items()]


def _torch() -> str:
    try:
        return f"torch {version('torch')}"
    except PackageNotFoundError:
        return ""


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _said(*words: str) -> str:
    try:
        return subprocess.run(words, capture_output=True, text=True, check=False, timeout=10).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""
