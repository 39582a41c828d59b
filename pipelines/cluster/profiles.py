"""The clusters that a project names: `[tool.argosy.clusters.NAME]` in its pyproject.toml."""

import tomllib
from pathlib import Path

import msgspec

from argosy.pipelines.cluster.errors import ClusterError
from argosy.pipelines.names import suggestion

FILE = "pyproject.toml"


class Profile(msgspec.Struct, rename="kebab", frozen=True):
    """One cluster."""

    server: str
    """Argo server's address: `https://argo.example.org`, or `argo.example.org:2746`, which is https too."""
    namespace: str = ""
    ca: str = ""
    """Path of the certificate authority's certificates (PEM), relative to the file."""
    token_env: str = ""
    """Name of the environment variable that holds the token."""


def profiles(project: Path) -> dict[str, Profile]:
    """The profiles by name. Raises ClusterError naming file and key."""
    file = project / FILE
    return {name: _profile(f"{file}: [tool.argosy.clusters.{name}]", table) for name, table in _tables(file).items()}


def _tables(file: Path) -> dict[str, object]:
    try:
        content: dict[str, object] = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ClusterError(f"{file}: is no TOML: {error}") from error
    where = ""
    for key in ("tool", "argosy", "clusters"):
        where = f"{where}.{key}".lstrip(".")
        inner = content.get(key, {})
        if not isinstance(inner, dict):
            raise ClusterError(f"{file}: {where}: {inner!r} is no table; write [tool.argosy.clusters.NAME]")
        content = inner
    return content


def _profile(where: str, table: object) -> Profile:
    known = Profile.__struct_encode_fields__
    all_keys = f"it takes {', '.join(known)}"
    if not isinstance(table, dict):
        raise ClusterError(f"{where}: {table!r} is no table; give it {', '.join(known)}")
    for key in table:
        if key not in known:
            raise ClusterError(f"{where}: {key!r} is no key; {suggestion(key, known, all_keys)}")
    for key, value in table.items():
        if not isinstance(value, str):
            raise ClusterError(f'{where}: {key} = {value!r} is no text; write {key} = "..."')
    if not table.get("server"):
        raise ClusterError(f'{where}: has no server; write server = "https://..."')
    return msgspec.convert(table, Profile)
