"""Who the pod of this step is in its cluster: the service account that is mounted into it."""

import base64
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from argosy.steps.errors import configuration_error

FOLDER = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where a pod finds its account (kubernetes: client-go/rest/config.go, InClusterConfig)."""

HOST, PORT = "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"


@dataclass(frozen=True)
class Account:
    address: str
    """Of the API server."""
    folder: Path

    @property
    def authority(self) -> Path:
        """The certificate that the API server's is checked by."""
        return self.folder / "ca.crt"

    @property
    def namespace(self) -> str:
        return (self.folder / "namespace").read_text(encoding="utf-8").strip()

    def token(self) -> str:
        """Read anew each time: the kubelet brings another before one expires."""
        return (self.folder / "token").read_text(encoding="ascii").strip()

    def owner(self) -> dict[str, Any]:
        """The reference by which what is made here goes when this pod goes.

        A bound token says whose it is (kubernetes: pkg/serviceaccount/claims.go). It names no controller: Kueue would
        take the Job for a part of the pod. Raises StepError (CONFIGURATION).
        """
        _, claims, _ = self.token().split(".")
        known = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
        pod = known.get("kubernetes.io", {}).get("pod")
        if not pod:
            raise configuration_error(f"{self.folder}/token: is bound to no pod; mount a projected token")
        return {"apiVersion": "v1", "kind": "Pod", "name": pod["name"], "uid": pod["uid"]}


def here() -> Account | None:
    """None: this process is in no cluster."""
    host = os.environ.get(HOST)
    if not host or not (FOLDER / "token").exists():
        return None
    bracketed = f"[{host}]" if ":" in host else host
    return Account(f"https://{bracketed}:{os.environ.get(PORT, '443')}", FOLDER)
