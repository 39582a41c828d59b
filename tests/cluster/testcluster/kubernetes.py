"""A Kubernetes of one node: etcd, control plane, containerd, kubelet, kube-proxy, network policies."""

import json
import os
import secrets
import subprocess
from dataclasses import dataclass
from pathlib import Path

import yaml

from testcluster.machine import Machine
from testcluster.paths import BINARIES, STATE
from testcluster.services import Service, answers, wait_until

NODE = "node0"
SERVICES = "10.96.0.0/16"
PODS = "10.244.0.0/24"
DOMAIN = "cluster.local"
DNS = "169.254.20.10"  # https://kubernetes.io/docs/tasks/administer-cluster/nodelocaldns/
PAUSE_IMAGE = "localhost/pause:1"
CNI = "/usr/lib/cni"


@dataclass
class Kubernetes:
    """Its processes on a machine, and the files with which they were started."""

    machine: Machine

    @property
    def folder(self) -> Path:
        return STATE / "kubernetes"

    @property
    def url(self) -> str:
        return f"https://{self.machine.address}:6443"

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "admin.kubeconfig"

    @property
    def ca(self) -> Path:
        return self.folder / "certificates" / "apiserver.crt"

    @property
    def token(self) -> str:
        """Of a user who may do everything."""
        return str(yaml.safe_load(self.kubeconfig.read_text())["users"][0]["user"]["token"])

    @property
    def containerd_socket(self) -> Path:
        return STATE / "containerd.sock"

    def start(self) -> None:
        """Start everything, and wait until the node is ready for pods."""
        self.folder.mkdir(parents=True)
        tokens = {name: secrets.token_hex(16) for name in ("admin", "node")}
        self._write_credentials(tokens)
        self._etcd().start()
        self._api_server(tokens["admin"]).start()
        for service in (self._controller_manager(), self._scheduler(), self._containerd()):
            service.start()
        self._kubelet().start()
        self._proxy().start()
        self._policies().start()
        wait_until(lambda: self.kubectl("get", "node", NODE, check=False) != "", "the node to register")
        self.kubectl("wait", "--for=condition=Ready", f"node/{NODE}", "--timeout=90s")

    def kubectl(self, *words: str, stdin: str | None = None, check: bool = True) -> str:
        """What kubectl printed. Raises RuntimeError with what it complained of."""
        return kubectl(self.kubeconfig, *words, stdin=stdin, check=check)

    def apply(self, *objects: dict) -> None:
        """Create or change these objects."""
        self.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=yaml.safe_dump_all(objects))

    def establish(self, *resources: dict) -> None:
        """Teach it custom resources, and wait until it serves them."""
        self.apply(*resources)
        names = [f"crd/{one['metadata']['name']}" for one in resources]
        established = ("wait", "--for=condition=Established", "--timeout=60s", *names)
        # It fails on what has no conditions yet.
        wait_until(
            lambda: self.kubectl(*established, check=False).count("condition met") == len(names),
            "custom resources to be established",
        )

    def ctr(self, *words: str) -> str:
        """A command of containerd's own client."""
        return self.machine.run("ctr", f"--address={self.containerd_socket}", "--namespace=k8s.io", *words).stdout

    def load_image(self, archive: Path, reference: str) -> None:
        """Import an image, unless it is there."""
        if reference not in self.ctr("images", "list", "--quiet").split():
            self.ctr("images", "import", str(archive))

    def _write_credentials(self, tokens: dict[str, str]) -> None:
        key = self.folder / "service-accounts.key"
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
        users = {"admin": ("admin", "system:masters"), "node": (f"system:node:{NODE}", "system:nodes")}
        lines = [f'{tokens[name]},{user},{name},"{group}"' for name, (user, group) in users.items()]
        _private(self.folder / "tokens.csv", "\n".join(lines) + "\n")
        _private(self.kubeconfig, self._kubeconfig(tokens["admin"]))
        _private(self.folder / "node.kubeconfig", self._kubeconfig(tokens["node"]))

    def _kubeconfig(self, token: str) -> str:
        return yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "test", "cluster": {"server": self.url, "certificate-authority": str(self.ca)}}],
                "users": [{"name": "test", "user": {"token": token}}],
                "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test", "namespace": "argo"}}],
                "current-context": "test",
            }
        )

    def _etcd(self) -> Service:
        words = [
            BINARIES / "etcd",
            f"--data-dir={self.folder / 'etcd'}",
            "--listen-peer-urls=http://127.0.0.1:2380",
            "--unsafe-no-fsync",  # nobody will want it back
            "--log-level=warn",
        ]
        return Service(self.machine, "etcd", words, self._is_open("http://127.0.0.1:2379/health"))

    def _api_server(self, token: str) -> Service:
        key = self.folder / "service-accounts.key"
        words = [
            BINARIES / "kube-apiserver",
            "--etcd-servers=http://127.0.0.1:2379",
            f"--cert-dir={self.ca.parent}",
            f"--token-auth-file={self.folder / 'tokens.csv'}",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-cluster-ip-range={SERVICES}",
            f"--advertise-address={self.machine.address}",
            "--authorization-mode=Node,RBAC",
            "--allow-privileged",
            # `kubectl logs` would look the node's name up in a DNS that does not know it.
            "--kubelet-preferred-address-types=InternalIP",
        ]
        ready = answers(f"{self.url}/readyz", ca=self.ca, token=token)
        return Service(self.machine, "kube-apiserver", words, lambda: self.ca.exists() and ready())

    def _controller_manager(self) -> Service:
        words = [
            BINARIES / "kube-controller-manager",
            f"--kubeconfig={self.kubeconfig}",
            f"--service-account-private-key-file={self.folder / 'service-accounts.key'}",
            f"--root-ca-file={self.ca}",
            "--use-service-account-credentials",
            f"--cluster-cidr={PODS}",
            "--allocate-node-cidrs",
            "--leader-elect=false",
        ]
        return Service(self.machine, "kube-controller-manager", words, self._is_open("https://127.0.0.1:10257/healthz"))

    def _scheduler(self) -> Service:
        words = [BINARIES / "kube-scheduler", f"--kubeconfig={self.kubeconfig}", "--leader-elect=false"]
        return Service(self.machine, "kube-scheduler", words, self._is_open("https://127.0.0.1:10259/healthz"))

    def _containerd(self) -> Service:
        config = self.folder / "containerd.toml"
        config.write_text(CONTAINERD.format(images=STATE / "containerd", state=STATE, cni=self._cni(), bins=CNI))
        words = ["containerd", f"--config={config}"]
        return Service(self.machine, "containerd", words, self._has_containerd)

    def _has_containerd(self) -> bool:
        return self.machine.run("ctr", f"--address={self.containerd_socket}", "version", check=False).returncode == 0

    def _cni(self) -> Path:
        folder = self.folder / "cni"
        folder.mkdir()
        network = {
            "cniVersion": "0.4.0",
            "name": "pods",
            "plugins": [
                {
                    "type": "bridge",
                    "bridge": "pods0",
                    "isGateway": True,
                    "ipMasq": True,
                    "hairpinMode": True,
                    "ipam": {
                        "type": "host-local",
                        "ranges": [[{"subnet": PODS}]],
                        "routes": [{"dst": "0.0.0.0/0"}],
                        "dataDir": str(self.folder / "addresses"),
                    },
                },
                {"type": "portmap", "capabilities": {"portMappings": True}},
            ],
        }
        (folder / "pods.conflist").write_text(json.dumps(network))
        return folder

    def _kubelet(self) -> Service:
        config = self.folder / "kubelet.yaml"
        own = {
            "containerRuntimeEndpoint": f"unix://{self.containerd_socket}",
            "cgroupRoot": f"/{self.machine.cgroup}",
        }
        config.write_text(yaml.safe_dump(KUBELET | own))
        words = [
            BINARIES / "kubelet",
            f"--config={config}",
            f"--kubeconfig={self.folder / 'node.kubeconfig'}",
            f"--root-dir={STATE / 'kubelet'}",
            f"--hostname-override={NODE}",
            f"--node-ip={self.machine.address}",
        ]
        return Service(self.machine, "kubelet", words, self._is_open("http://127.0.0.1:10248/healthz"))

    def _proxy(self) -> Service:
        words = [
            BINARIES / "kube-proxy",
            f"--kubeconfig={self.kubeconfig}",
            "--proxy-mode=iptables",
            f"--hostname-override={NODE}",
            "--conntrack-max-per-core=0",  # not ours to set
        ]
        return Service(self.machine, "kube-proxy", words, self._is_open("http://127.0.0.1:10256/healthz"))

    def _policies(self) -> Service:
        """Enforces network policies, which the bridge plugin knows nothing of."""
        words = [
            BINARIES / "kube-router",
            f"--kubeconfig={self.kubeconfig}",
            "--run-firewall=true",
            "--run-router=false",
            "--run-service-proxy=false",
            f"--service-cluster-ip-range={SERVICES}",
            f"--hostname-override={NODE}",
        ]
        return Service(self.machine, "kube-router", words, self._is_open("http://127.0.0.1:20244/healthz"))

    def _is_open(self, url: str):
        """Whether an address that only the machine itself can reach answers."""
        program = (
            f"import ssl, urllib.request as r; r.urlopen({url!r}, timeout=3, context=ssl._create_unverified_context())"
        )
        return lambda: self.machine.run("python3", "-c", program, check=False).returncode == 0


def kubectl(kubeconfig: Path, *words: str, stdin: str | None = None, check: bool = True) -> str:
    """What kubectl printed. Raises RuntimeError with what it complained of."""
    command = [BINARIES / "kubectl", f"--kubeconfig={kubeconfig}", *words]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise RuntimeError(f"kubectl {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def _private(path: Path, text: str) -> None:
    """A file that its owner alone can read."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)


CONTAINERD = """\
version = 2
root = "{images}"
state = "{state}/containerd-state"
disabled_plugins = ["io.containerd.internal.v1.opt"]
[grpc]
address = "{state}/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "localhost/pause:1"
restrict_oom_score_adj = true  # lowering it needs CAP_SYS_RESOURCE, which root lacks in a container
disable_hugetlb_controller = true
netns_mounts_under_state_dir = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "{bins}"
conf_dir = "{cni}"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
"""

KUBELET = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "kind": "KubeletConfiguration",
    "cgroupDriver": "cgroupfs",
    "failCgroupV1": False,
    "failSwapOn": False,
    "enforceNodeAllocatable": [],
    "cpuCFSQuota": False,  # else a pod of 200m takes 20 s to import torch
    # Nobody but this machine's own processes reaches it.
    "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
    "authorization": {"mode": "AlwaysAllow"},
    "clusterDomain": DOMAIN,
    "clusterDNS": [DNS],
    "resolvConf": "/dev/null",
    "imageGCHighThresholdPercent": 100,  # images cannot be pulled again
    "evictionHard": {"nodefs.available": "1Gi"},
}
