"""How tests reach a cluster: the one that they booted, or one that is there."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests

from testcluster.kubernetes import kubectl

NAMED = "ARGOSY_TEST_KUBECONFIG"
"""Environment variable that names the kubeconfig of a cluster to use in place of one of the tests' own."""

SECONDS_FOR_A_COMMAND = 400


@dataclass(frozen=True)
class Access:
    """Addresses, names and keys of a cluster in which argosy is installed."""

    kubeconfig: Path
    argo_server: str
    """Its address, with http:// or https://."""
    token: str = field(repr=False)
    namespace: str
    image: str
    """The digits project's image, as the cluster's nodes know it."""
    small_image: str
    """An image with python and sh."""
    project: Path
    """The digits pipeline as a project of its own, committed, with its data in S3."""
    git: str
    """Address below which the folder of bare repositories is served."""
    stores: Mapping[str, str] = field(repr=False)
    """Environment variables that say where S3 and MLflow are, and with which keys S3 is opened."""

    @classmethod
    def named(cls) -> "Access | None":
        """The cluster that the environment names, as `make cluster` prints it; None if it names none."""
        if NAMED not in os.environ:
            return None
        given = os.environ
        scheme = "http" if given.get("ARGO_SECURE") == "false" else "https"
        return cls(
            kubeconfig=Path(given[NAMED]),
            argo_server=f"{scheme}://{given['ARGO_SERVER']}",
            token=given["ARGO_TOKEN"].removeprefix("Bearer "),
            namespace=given["ARGO_NAMESPACE"],
            image=given["ARGOSY_TEST_IMAGE"],
            small_image=given["ARGOSY_TEST_SMALL_IMAGE"],
            project=Path(given["ARGOSY_TEST_PROJECT"]),
            git=given["ARGOSY_TEST_GIT"],
            stores={name: given[name] for name in STORES},
        )

    @property
    def environment(self) -> dict[str, str]:
        """What the command lines of argosy, argo and kubectl read."""
        scheme, _, address = self.argo_server.partition("://")
        return {
            **self.stores,
            "KUBECONFIG": str(self.kubeconfig),
            "ARGO_SERVER": address,
            "ARGO_SECURE": "false" if scheme == "http" else "true",
            "ARGO_TOKEN": f"Bearer {self.token}",
            "ARGO_NAMESPACE": self.namespace,
        }

    @property
    def for_tests(self) -> dict[str, str]:
        """What `named` reads beside that."""
        return {
            NAMED: str(self.kubeconfig),
            "ARGOSY_TEST_IMAGE": self.image,
            "ARGOSY_TEST_SMALL_IMAGE": self.small_image,
            "ARGOSY_TEST_PROJECT": str(self.project),
            "ARGOSY_TEST_GIT": self.git,
        }

    @property
    def mlflow(self) -> str:
        return self.stores["MLFLOW_TRACKING_URI"]

    def kubectl(self, *words: str, stdin: str | None = None, check: bool = True) -> str:
        """What kubectl printed. Raises RuntimeError with what it complained of."""
        return kubectl(self.kubeconfig, *words, stdin=stdin, check=check)

    def argosy(self, folder: Path, *words: str, code: int = 0, stdin: str | None = None, **environment: str) -> str:
        """What `argosy` printed in a project, once it has ended with this exit code."""
        command = [Path(sys.executable).with_name("argosy"), *words]
        done = subprocess.run(
            command,
            cwd=folder,
            env=os.environ | self.environment | environment,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS_FOR_A_COMMAND,
        )
        assert done.returncode == code, f"{words}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def get(self, path: str, **parameters: str) -> Any:
        """What Argo's server answers to a GET, which is all that its UI sees."""
        answer = requests.get(
            f"{self.argo_server}{path}",
            params=parameters,
            headers={"Authorization": f"Bearer {self.token}"},
            timeout=30,
        )
        answer.raise_for_status()
        return answer.json()

    def workflow(self, name: str) -> dict[str, Any]:
        """A Workflow object, as Argo's UI gets it."""
        found: dict[str, Any] = self.get(f"/api/v1/workflows/{self.namespace}/{name}")
        return found


STORES = (
    "AWS_ENDPOINT_URL",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_DEFAULT_REGION",
    "MLFLOW_TRACKING_URI",
)
