"""The cluster's programs, built from Go modules that go.mod and go.sum pin."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from testcluster.paths import BINARIES, BUILD, SOURCES, is_newer

KUBERNETES = "v1.34.4"
KUBERNETES_COMMANDS = (
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kube-proxy",
    "kubelet",
    "kubectl",
)
ARGO_MODULE = "github.com/argoproj/argo-workflows/v4"
KUEUE_MODULE = "sigs.k8s.io/kueue"

# The API server refuses, and is refused by, what cannot tell its version; its own build script sets it so.
KUBERNETES_VERSION = "".join(
    f" -X k8s.io/component-base/version.{name}={value}"
    for name, value in {"gitVersion": KUBERNETES, "gitMajor": "1", "gitMinor": "34"}.items()
)


@dataclass(frozen=True)
class Tools:
    """The commands of one Go module in `tools/`, each of which has the dependencies that it was released with."""

    module: str
    packages: dict[str, str]
    """Command -> package."""
    linker_flags: str = ""

    def build(self) -> None:
        """Build what is not there yet, or was built of other versions."""
        sources = SOURCES / "tools" / self.module
        if all(is_newer(BINARIES / name, sources.iterdir()) for name in self.packages):
            return
        folder = BUILD / "go" / self.module
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(sources, folder)
        if self.module == "argo":
            _mend_argo(folder)
        # With one setting of cgo for all, packages in common are compiled once.
        environment = os.environ | {"CGO_ENABLED": "0"}
        flags = ["-ldflags", f"-s -w{self.linker_flags}"]
        for name, package in self.packages.items():
            print(f"building {name}", file=sys.stderr)
            part = BINARIES / f"{name}.part"
            _go(folder, "build", *flags, "-o", str(part), package, environment=environment)
            part.rename(BINARIES / name)


TOOLS = (
    Tools("pause", {"pause": "."}),
    Tools("etcd", {"etcd": "go.etcd.io/etcd/server/v3"}),
    Tools("versitygw", {"versitygw": "github.com/versity/versitygw/cmd/versitygw"}),
    Tools("kube-router", {"kube-router": "github.com/cloudnativelabs/kube-router/v2/cmd/kube-router"}),
    Tools("coredns", {"coredns": "."}),
    Tools("kueue", {"kueue": f"{KUEUE_MODULE}/cmd/kueue"}),
    Tools("argo", {name: f"{ARGO_MODULE}/cmd/{name}" for name in ("argo", "argoexec", "workflow-controller")}),
    Tools(
        "kubernetes",
        {name: f"k8s.io/kubernetes/cmd/{name}" for name in KUBERNETES_COMMANDS},
        KUBERNETES_VERSION,
    ),
)


def build() -> None:
    """Every command; minutes the first time, and nothing after that."""
    BINARIES.mkdir(parents=True, exist_ok=True)
    for tools in TOOLS:
        tools.build()


def argo_module() -> Path:
    """The folder of Argo's Go module, which holds its manifests and examples too."""
    return _module("argo", ARGO_MODULE)


def kueue_module() -> Path:
    """The folder of Kueue's Go module, which holds its manifests too."""
    return _module("kueue", KUEUE_MODULE)


def _module(tools: str, name: str) -> Path:
    return Path(_go(SOURCES / "tools" / tools, "list", "-m", "-f", "{{.Dir}}", name).strip())


def _mend_argo(folder: Path) -> None:
    """Fill two holes that a Go module's zip has against Argo's repository, in a copy.

    A zip holds no symbolic links (workflow/executor/osspecific/signal_linux.go is one), and no built UI (ui/embed.go).
    """
    _go(folder, "mod", "download", ARGO_MODULE)
    copy = folder / "argo-workflows"
    shutil.copytree(_go(folder, "list", "-m", "-f", "{{.Dir}}", ARGO_MODULE).strip(), copy)
    for path in copy.rglob("*"):
        if path.is_dir():
            path.chmod(0o755)  # the module cache is read only
    signals = copy / "workflow" / "executor" / "osspecific"
    shutil.copyfile(signals / "signal_darwin.go", signals / "signal_linux.go")
    page = copy / "ui" / "dist" / "app" / "index.html"
    page.parent.mkdir(parents=True)
    page.write_text("<p>The API alone.</p>\n")
    _go(folder, "mod", "edit", "-replace", f"{ARGO_MODULE}=./argo-workflows")


def _go(folder: Path, *words: str, environment: dict[str, str] | None = None) -> str:
    return subprocess.run(
        ["go", *words], cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, text=True
    ).stdout
