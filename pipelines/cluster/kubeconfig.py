"""What kubectl's configuration says of the current context: its namespace, and its user's token.

https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/
"""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from argosy.pipelines.cluster.errors import ClusterError

Json = dict[str, Any]

PLUGIN_SECONDS = 60
"""A plugin that gets a token may ask its user to sign in first."""


@dataclass(frozen=True)
class Context:
    """The current context."""

    namespace: str = ""
    user: str = ""
    _credentials: Json = field(default_factory=dict, repr=False)
    _folder: Path = Path()

    def token(self) -> str:
        """The user's token, read or asked for now; empty where the user has none. Raises ClusterError."""
        if token := self._credentials.get("token"):
            return str(token)
        if file := self._credentials.get("tokenFile"):
            try:
                return (self._folder / str(file)).read_text(encoding="utf-8").strip()
            except OSError as error:
                raise ClusterError(f"kubeconfig: tokenFile of user {self.user}: {file}: {error.strerror}") from error
        if plugin := self._credentials.get("exec"):
            return _from_plugin(plugin, self.user)
        return ""


def current(environment: Mapping[str, str]) -> Context:
    """The current context; an empty one without configuration. Raises ClusterError for a file that cannot be read."""
    from_environment = [Path(name) for name in environment.get("KUBECONFIG", "").split(os.pathsep) if name]
    files = from_environment or [Path.home() / ".kube" / "config"]
    read = [(file, _read(file)) for file in files if file.is_file()]
    wanted = next((content["current-context"] for _, content in read if content.get("current-context")), None)
    context, _ = _entry(read, "contexts", "context", wanted)
    credentials, folder = _entry(read, "users", "user", context.get("user"))
    return Context(str(context.get("namespace") or ""), str(context.get("user") or ""), credentials, folder)


def _read(file: Path) -> Json:
    from argosy.pipelines.documents import DocumentError, load_all

    try:
        content: object = next(load_all(file.read_text(encoding="utf-8")), {})
    except (DocumentError, UnicodeDecodeError) as error:
        raise ClusterError(f"{file}: {error}; KUBECONFIG names the file, `kubectl config view` shows it") from error
    return content if isinstance(content, dict) else {}


def _entry(read: list[tuple[Path, Json]], kind: str, key: str, name: object) -> tuple[Json, Path]:
    """The first entry of this name, as kubectl merges files, and its file's folder."""
    for file, content in read:
        for entry in content.get(kind) or []:
            if entry.get("name") == name:
                return entry.get(key) or {}, file.parent
    return {}, Path()


def _from_plugin(plugin: Json, user: str) -> str:
    """The token that a credential plugin prints (client.authentication.k8s.io, ExecCredential)."""
    command = [str(plugin.get("command")), *map(str, plugin.get("args") or [])]
    asked = {"apiVersion": plugin.get("apiVersion"), "kind": "ExecCredential", "spec": {"interactive": False}}
    added = {str(one["name"]): str(one["value"]) for one in plugin.get("env") or []}
    environment = os.environ | added | {"KUBERNETES_EXEC_INFO": json.dumps(asked)}
    try:
        done = subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, check=True, timeout=PLUGIN_SECONDS, text=True
        )
        return str(json.loads(done.stdout)["status"]["token"])
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError) as error:
        what = f"kubeconfig: {command[0]} gives no token for user {user} ({type(error).__name__})"
        raise ClusterError(f"{what}; set ARGO_TOKEN instead") from error
