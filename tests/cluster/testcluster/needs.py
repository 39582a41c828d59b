"""What this machine needs for a cluster of its own."""

import os
import shutil
import sys
from pathlib import Path

from testcluster.paths import BINARIES, ROOT

PROGRAMS = {
    "go": "Go 1.24 or newer",
    "containerd": "apt-get install containerd",
    "runc": "apt-get install runc",
    "buildah": "apt-get install buildah",
    "debootstrap": "apt-get install debootstrap",
    "iptables": "apt-get install iptables",
    "conntrack": "apt-get install conntrack",
    "ipset": "apt-get install ipset",
    "ip": "apt-get install iproute2",
    "nsenter": "apt-get install util-linux",
    "setpriv": "apt-get install util-linux",
    "openssl": "apt-get install openssl",
}
GIGABYTES_TO_BUILD = 20
"""Go's caches, the framework's image, and what a running cluster keeps."""

GIGABYTES_TO_RUN = 5


def lacking() -> str:
    """Why no cluster can be had here; empty if one can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "it needs Linux and root"
    missing = [f"{name} ({remedy})" for name, remedy in PROGRAMS.items() if not shutil.which(name)]
    if not Path("/usr/lib/cni/bridge").exists():
        missing.append("CNI plugins (apt-get install containernetworking-plugins)")
    if missing:
        return f"it needs {', '.join(missing)}"
    free = shutil.disk_usage(ROOT).free / 1e9
    needed = GIGABYTES_TO_RUN if (BINARIES / "kubelet").exists() else GIGABYTES_TO_BUILD
    return f"{free:.0f} GB free, {needed} needed" if free < needed else ""
