"""The names of a Kubernetes' Services and pods."""

from dataclasses import dataclass

from testcluster.kubernetes import DNS, DOMAIN, Kubernetes
from testcluster.paths import BINARIES, STATE
from testcluster.services import Service, answers

COREFILE = """\
{domain} in-addr.arpa {{
    bind {address}
    health {node}:8053
    errors
    kubernetes {domain} in-addr.arpa {{
        kubeconfig {kubeconfig} test
        ttl 5
    }}
}}
"""


@dataclass
class Dns:
    """A CoreDNS on the node, at the address where a cache of names is on any node that has one."""

    kubernetes: Kubernetes

    def start(self) -> None:
        machine = self.kubernetes.machine
        machine.run("ip", "address", "add", f"{DNS}/32", "dev", "node0")
        file = STATE / "Corefile"
        settings = {"domain": DOMAIN, "address": DNS, "node": machine.address}
        file.write_text(COREFILE.format(**settings, kubeconfig=self.kubernetes.kubeconfig))
        ready = answers(f"http://{machine.address}:8053/health")
        Service(machine, "coredns", [BINARIES / "coredns", f"-conf={file}"], ready).start()
