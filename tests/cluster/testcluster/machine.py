"""The machine that the cluster believes to be alone on: namespaces of its own for network, mounts and processes.

Every process of the cluster lives in them. When their first process is killed the kernel ends all others, and with them
go mounts and network devices. It is killed with the process that started it, however that ends.
"""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from testcluster.paths import ROOT

NETWORKS = ("192.0.2", "198.51.100", "203.0.113", *(f"198.18.{number}" for number in range(8)))
"""For documentation (RFC 5737) and benchmarks (RFC 2544): routed nowhere. Each machine has one."""

# Pods' abandoned processes fall to the first process; ignoring SIGCHLD lets the kernel collect them (signal(7)).
FIRST_PROCESS = "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)\nwhile True: signal.pause()"

UNSHARE = ("unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private")
SECONDS_TO_END = 300
"""Containers' file systems are written out as they are unmounted: minutes, on a busy disk."""

ENDS_WITH_ITS_PARENT = ("setpriv", "--pdeathsig", "KILL")


@dataclass(frozen=True)
class Machine:
    """The namespaces, held by their first process."""

    process: psutil.Process
    network: str
    """The first three numbers of its addresses: `.1` is this side, `.10` the node."""
    holder: "subprocess.Popen[bytes] | None" = field(default=None, repr=False, compare=False)
    """The process here whose child the first one is, if this process has started it."""
    services: "list[subprocess.Popen[bytes]]" = field(default_factory=list, repr=False, compare=False)
    """What this process has started in it, to be collected when it ends."""

    @property
    def address(self) -> str:
        return f"{self.network}.10"

    @classmethod
    def started(cls, *, stays: bool = False, folder: Path = ROOT) -> "Machine":
        """A new one, which ends with this process unless it `stays`. It is found again by the folder it works in."""
        network = _free_network()
        holder = subprocess.Popen(
            [*(() if stays else ENDS_WITH_ITS_PARENT), *UNSHARE, sys.executable, "-c", FIRST_PROCESS, network],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            machine = cls(_child_of(holder.pid), network, holder)
            machine._make_cgroups()
            machine._connect()
        except BaseException:
            holder.kill()  # and with it its child
            holder.wait()
            raise
        return machine

    @classmethod
    def found(cls, folder: Path = ROOT) -> "list[Machine]":
        """Those that were started in this folder, by whomever."""
        return [
            cls(process, network)
            for process in psutil.process_iter(["cmdline", "cwd"])
            if process.info["cwd"] == str(folder) and (network := _network(process.info["cmdline"]))
        ]

    def inside(self, *words: str | Path) -> list[str | Path]:
        """A command, as it runs in the machine.

        Not `ip netns exec`, which mounts /sys anew, where the kubelet then finds no cgroups.
        """
        return ["nsenter", f"--target={self.process.pid}", "--net", "--mount", "--pid", *words]

    def run(self, *words: str | Path, check: bool = True, **options: object) -> "subprocess.CompletedProcess[str]":
        """Run a command to its end in the machine."""
        return subprocess.run(self.inside(*words), check=check, text=True, capture_output=True, **options)  # type: ignore[call-overload, no-any-return] # passed on

    def stop(self) -> None:
        """End every process in the machine."""
        with contextlib.suppress(psutil.NoSuchProcess):
            self.process.kill()  # a namespace's first process does not hear SIGTERM (pid_namespaces(7))
            self.process.wait(timeout=SECONDS_TO_END)
        for process in (*self.services, *filter(None, [self.holder])):
            process.wait(timeout=SECONDS_TO_END)
        self._remove_cgroups()

    @property
    def cgroup(self) -> str:
        """The cgroup below which its pods are: a kubelet ends whatever it does not know below its own."""
        return f"argosy{NETWORKS.index(self.network)}"

    def _make_cgroups(self) -> None:
        for root in _cgroup_roots():
            (root / self.cgroup).mkdir(exist_ok=True)

    def _remove_cgroups(self) -> None:
        """The kernel keeps the pods' empty cgroups until somebody removes them, from the innermost out."""
        for root in _cgroup_roots():
            for folder, _, _ in os.walk(root / self.cgroup, topdown=False):
                with contextlib.suppress(OSError):
                    Path(folder).rmdir()

    def _connect(self) -> None:
        pid = str(self.process.pid)
        subprocess.run(
            ["ip", "link", "add", self._device, "type", "veth", "peer", "name", "outside", "netns", pid], check=True
        )
        subprocess.run(["ip", "address", "add", f"{self.network}.1/24", "dev", self._device], check=True)
        subprocess.run(["ip", "link", "set", self._device, "up"], check=True)
        self.run("mount", "--make-rshared", "/")  # the kubelet hands its mounts on to containers
        for words in (
            "ip link set lo up",
            "ip link add node0 type bridge",  # there is no module `dummy` here
            f"ip address add {self.address}/24 dev node0",
            "ip link set outside master node0",
            "ip link set outside up",
            "ip link set node0 up",
            "ip route add default dev node0",  # kube-proxy needs one; nothing answers beyond it
            "sysctl --quiet --write net.ipv4.ip_forward=1 net.bridge.bridge-nf-call-iptables=1",
        ):
            self.run(*words.split())

    @property
    def _device(self) -> str:
        return f"argosy{NETWORKS.index(self.network)}"


def _network(command: Sequence[str]) -> str:
    """The network of the machine of which this is the first process; empty for any other command."""
    return command[3] if list(command[1:3]) == ["-c", FIRST_PROCESS] and len(command) == 4 else ""


def _child_of(pid: int) -> psutil.Process:
    """The process that unshare has forked."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        for child in psutil.Process(pid).children():
            if _network(child.cmdline()):
                return child
        time.sleep(0.01)  # the kernel tells nobody of another process's children
    raise TimeoutError("unshare did not start the machine's first process")


def _free_network() -> str:
    taken = {one.address.rpartition(".")[0] for addresses in psutil.net_if_addrs().values() for one in addresses}
    return next(network for network in NETWORKS if network not in taken)


def _cgroup_roots() -> list[Path]:
    """One for each controller, or one for all."""
    top = Path("/sys/fs/cgroup")
    if (top / "cgroup.controllers").exists():
        return [top]
    return [root for root in top.iterdir() if (root / "cgroup.procs").exists() and not root.is_symlink()]
