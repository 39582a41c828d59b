"""The device that judges a model: how to wait for it, and how much memory it has held."""

import resource
import sys
from pathlib import Path
from typing import Protocol

import torch

from argosy.steps.errors import configuration_error

PROCESS_STATUS = Path("/proc/self/status")


class Device(Protocol):
    """A call may return before the device has finished; only `synchronise` makes a time true."""

    @property
    def name(self) -> str:
        """As torch names it."""

    def synchronise(self) -> None:
        """Returns when the device has finished all that was asked of it."""

    def peak_bytes(self) -> int:
        """The most memory held at once since the process began."""


class Cpu:
    name = "cpu"

    def synchronise(self) -> None:
        """A call on the CPU returns when it has finished."""

    def peak_bytes(self) -> int:
        """Resident memory of this process, code of torch and all."""
        if PROCESS_STATUS.exists():
            # Not ru_maxrss, which on Linux counts what the parent held before exec (fs/exec.c, setmax_mm_hiwater_rss).
            return next(
                int(line.split()[1]) * 1024
                for line in PROCESS_STATUS.read_text().splitlines()
                if line.startswith("VmHWM:")
            )
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


class Cuda:
    name = "cuda"

    def synchronise(self) -> None:
        torch.cuda.synchronize()

    def peak_bytes(self) -> int:
        """GPU memory that torch's allocator had taken for this process."""
        return torch.cuda.max_memory_reserved()


def device(gpus: int) -> Device:
    """The device to judge on. Raises StepError (CONFIGURATION) when a GPU is asked for and none is visible."""
    if gpus == 0:
        return Cpu()
    if not torch.cuda.is_available():
        raise configuration_error("gpus=1: no GPU is visible; give the gate's pod one, or set gpus to 0")
    return Cuda()
