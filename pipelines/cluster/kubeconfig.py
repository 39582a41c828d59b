"""What kubectl's configuration says of the current context: its namespace, and its user's token.

https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/
"""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from argosy.pipelines.cluster.errors import ClusterError

PLUGIN_SECONDS = 60
"""A plugin that gets a token may ask its user to sign in first."""


class _Variable(msgspec.Struct):
    name: str
    value: str


class _Plugin(msgspec.Struct, rename="camel"):
    command: str
    api_version: str = ""
    args: list[str] | None = None
    env: list[_Variable] | None = None


class _User(msgspec.Struct, rename="camel"):
    token: str = ""
    token_file: str = ""
    exec: _Plugin | None = None


class _Context(msgspec.Struct):
    namespace: str = ""
    user: str = ""


class _Entry(msgspec.Struct):
    name: str
    context: _Context = msgspec.field(default_factory=_Context)
    user: _User = msgspec.field(default_factory=_User)


class _Config(msgspec.Struct, rename="kebab"):
    current_context: str = ""
    contexts: list[_Entry] | None = None
    users: list[_Entry] | None = None


@dataclass(frozen=True)
class Context:
    """The current context."""

    namespace: str = ""
    user: str = ""
    _credentials: _User = field(default_factory=_User, repr=False)
    _folder: Path = Path()

    def token(self) -> str:
        """The user's token, read or asked for now; empty where the user has none. Raises ClusterError."""
        if token := self._credentials.token:
            return token
        if file := self._credentials.token_file:
            try:
                return (self._folder / file).read_text(encoding="utf-8", errors="replace").strip()
            except OSError as error:
                raise ClusterError(f"kubeconfig: tokenFile of user {self.user}: {file}: {error.strerror}") from error
        if plugin := self._credentials.exec:
            return _from_plugin(plugin, self.user)
        return ""


def current(environment: Mapping[str, str]) -> Context:
    """The current context; an empty one without configuration. Raises ClusterError for a file that cannot be read."""
    from_environment = [Path(name) for name in environment.get("KUBECONFIG", "").split(os.pathsep) if name]
    files = from_environment or [Path.home() / ".kube" / "config"]
    read = [(file, _read(file)) for file in files if file.is_file()]
    # Of several files the first that says something counts, as kubectl merges them.
    wanted = next((content.current_context for _, content in read if content.current_context), None)
    contexts = [one.context for _, content in read for one in content.contexts or () if one.name == wanted]
    context = contexts[0] if contexts else _Context()
    users = [(one.user, file) for file, content in read for one in content.users or () if one.name == context.user]
    credentials, file = users[0] if users else (_User(), Path())
    return Context(context.namespace, context.user, credentials, file.parent)


def _read(file: Path) -> _Config:
    from argosy.pipelines.documents import DocumentError, load_all

    try:
        return msgspec.convert(next(load_all(file.read_text(encoding="utf-8")), None) or {}, _Config)
    except (DocumentError, UnicodeDecodeError, msgspec.ValidationError, OSError) as error:
        raise ClusterError(f"{file}: {error}; KUBECONFIG names the file, `kubectl config view` shows it") from error


def _from_plugin(plugin: _Plugin, user: str) -> str:
    """The token that a credential plugin prints (client.authentication.k8s.io, ExecCredential)."""
    command = [plugin.command, *(plugin.args or ())]
    asked = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": {"interactive": False}}
    added = {one.name: one.value for one in plugin.env or ()}
    environment = os.environ | added | {"KUBERNETES_EXEC_INFO": json.dumps(asked)}
    try:
        done = subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, check=True, timeout=PLUGIN_SECONDS, text=True
        )
        return str(json.loads(done.stdout)["status"]["token"])
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError) as error:
        what = f"kubeconfig: {command[0]} gives no token for user {user} ({type(error).__name__})"
        raise ClusterError(f"{what}; set ARGO_TOKEN instead") from error
