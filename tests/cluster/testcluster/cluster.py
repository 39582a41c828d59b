"""The whole test cluster: a machine with Kubernetes, Argo and the stores, and argosy installed beside them."""

import fcntl
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from testcluster import binaries, digits, images
from testcluster.access import Access
from testcluster.archives import program_image
from testcluster.argo import EXECUTOR_IMAGE, Argo
from testcluster.dns import Dns
from testcluster.kubernetes import PAUSE_IMAGE, Kubernetes
from testcluster.kueue import Kueue
from testcluster.machine import Machine
from testcluster.paths import BINARIES, BUILD, IMAGES, STATE
from testcluster.stores import Stores

NAMESPACE = "training"
SMALL_IMAGE = "localhost/argosy/base:1"
NODE_FOLDERS = (
    "etc/kueue",  # its certificate
    "var/lib/argosy",  # where pipelines cache data, unless they say otherwise
    "var/lib/cni",
    "var/lib/kubelet",  # parts of it, whatever the kubelet's own root is
    "var/log/containers",
    "var/log/pods",  # of which a kubelet removes what it does not know
    "run/containerd",  # runc's state
)
"""What a node keeps at fixed places; in the machine these are folders of its own."""


@dataclass
class Cluster:
    """One for each checkout."""

    machine: Machine
    kubernetes: Kubernetes
    stores: Stores
    argo: Argo
    project: Path
    """The digits pipeline as a project of its own, whose image the node has."""
    image: str = ""

    @classmethod
    def booted(cls, *, stays: bool = False) -> "Cluster":
        """End the cluster that was there, and start another, which ends with this process unless it `stays`."""
        with _alone():
            end()
            STATE.mkdir(parents=True)
            machine = Machine.started(stays=stays)
            kubernetes, stores = Kubernetes(machine), Stores(machine)
            cluster = cls(machine, kubernetes, stores, Argo(kubernetes, stores), STATE / "digits")
            try:
                cluster._start()
            except BaseException:
                machine.stop()
                raise
            return cluster

    def stop(self) -> None:
        self.machine.stop()

    @property
    def access(self) -> Access:
        return Access(
            kubeconfig=self.kubernetes.kubeconfig,
            argo_server=self.argo.url,
            token=self.kubernetes.token,
            namespace=NAMESPACE,
            image=self.image,
            small_image=SMALL_IMAGE,
            project=self.project,
            stores={**self.stores.environment, "MLFLOW_TRACKING_URI": self.stores.mlflow_url},
            git=self.stores.git_url,
        )

    def _start(self) -> None:
        self._mount_node_folders()
        self.kubernetes.start()
        Dns(self.kubernetes).start()
        Kueue(self.kubernetes).start()
        self.stores.start()
        self.argo.start()
        self.project.mkdir()
        digits.create(self.project)
        digits.push_data(self.project, self.stores)
        self._load_images()
        self.install(NAMESPACE)

    def _mount_node_folders(self) -> None:
        for name in NODE_FOLDERS:
            own, place = STATE / "node" / name, Path("/") / name
            own.mkdir(parents=True)
            place.mkdir(parents=True, exist_ok=True)
            self.machine.run("mount", "--bind", own, place)

    def _load_images(self) -> None:
        for name, reference in PROGRAM_IMAGES.items():
            self.kubernetes.load_image(IMAGES / f"{name}.tar", reference)
        built = images.project_image(self.project)
        self.image = digits.image(self.project)
        images.lend(built, self.image, self.kubernetes.ctr)
        images.lend(images.small_image(), SMALL_IMAGE, self.kubernetes.ctr)

    def install(self, namespace: str, *options: str) -> None:
        """Install argosy in a namespace as a platform engineer does, with the keys of the stores as Secrets."""
        given = [
            f"--namespace={namespace}",
            f"--s3-endpoint={self.stores.s3_url}",
            f"--mlflow={self.stores.mlflow_url}",
            f"--egress={self.machine.address}/32:7070",
            f"--egress={self.machine.address}/32:5000",
            f"--egress={self.machine.address}/32:9418",
            f"--kubernetes-api={self.machine.address}/32:6443",
            *([f"--image={SMALL_IMAGE}"] if "--cache=scratch" not in options else []),
            "--access-mode=ReadWriteOnce",
            "--storage-class=node",
            "--models-size=1Gi",
            *options,
        ]
        argosy = Path(sys.executable).with_name("argosy")
        command = [argosy, "install", *given]
        # What it says is left to do is done below.
        objects = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        self.kubernetes.kubectl("apply", "-f", "-", stdin=objects)
        self.kubernetes.apply(*self._secrets(namespace), *_volumes(namespace, objects))
        self.argo.serve(namespace)

    def _secrets(self, namespace: str) -> Iterator[dict]:
        keys = {name: value for name, value in self.stores.environment.items() if "KEY" in name}
        yield {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "argosy-data", "namespace": namespace},
            "stringData": keys,
        }


PROGRAM_IMAGES = {"pause": PAUSE_IMAGE, "argoexec": EXECUTOR_IMAGE}


def parts() -> None:
    """Build what is missing: programs from Go modules, and images."""
    with _alone():
        binaries.build()
        for name, reference in PROGRAM_IMAGES.items():
            program_image(BINARIES / name, reference, IMAGES / f"{name}.tar")
        with TemporaryDirectory() as folder:
            digits.create(Path(folder))
            images.project_image(Path(folder))


def end() -> None:
    """End this checkout's cluster, if one runs, and forget it."""
    for machine in Machine.found():
        machine.stop()
    shutil.rmtree(STATE, ignore_errors=True)


@contextmanager
def _alone() -> Iterator[None]:
    """Two that boot at once wait for each other."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with (BUILD / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _volumes(namespace: str, objects: str) -> Iterator[dict]:
    """A folder of the node for each claim; a real cluster's storage class makes such volumes by itself."""
    for one in yaml.safe_load_all(objects):
        if one["kind"] == "PersistentVolumeClaim":
            name = one["metadata"]["name"]
            folder = STATE / "volumes" / namespace / name
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o777)  # the kubelet changes no owner of a host's folder
            yield {
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": {"name": f"{namespace}-{name}"},
                "spec": {
                    "capacity": {"storage": one["spec"]["resources"]["requests"]["storage"]},
                    "accessModes": one["spec"]["accessModes"],
                    "storageClassName": one["spec"]["storageClassName"],
                    "claimRef": {"namespace": namespace, "name": name},
                    "hostPath": {"path": str(folder)},
                },
            }
