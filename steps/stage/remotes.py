"""DVC's configuration -> where a remote keeps its objects, and what a run on this machine may show at its door.

Read as DVC itself reads it (dvc/config.py), without the tenth of a second that its import takes: the system's file, the
user's, the project's and `.dvc/config.local`, each shadowing those before it.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import SplitResult, urlsplit

import platformdirs
from configobj import ConfigObj, ConfigObjError  # type: ignore[import-untyped] # configobj has no types

from argosy.steps.errors import configuration_error
from argosy.steps.pins import FOLDER, Remote
from argosy.steps.stage.source import Source

CONFIG = ".dvc/config"
LOCAL = ".dvc/config.local"

STORES = ("s3", "gs", "azure")
READABLE = "argosy reads s3://, gs://, azure:// and folders: add such a remote, push to it and name it"

SECRETS = (
    "access_key_id", "secret_access_key", "session_token", "profile", "credentialpath", "configpath",
    "connection_string", "account_key", "sas_token", "tenant_id", "client_id", "client_secret",
)  # fmt: skip
PATHS = ("url", "credentialpath", "configpath")
"""Options that may be paths, which are then relative to their file (dvc/config.py, _map_dirs)."""

Options = dict[str, Any]
"""What is configured for one remote: texts, and lists of them where DVC would refuse them."""

_REMOTE = re.compile(r'\s*remote\s*"(.*)"\s*')
_URL = re.compile(r"\w+://")


class Remotes:
    """The remotes of a project at a revision."""

    def __init__(self, source: Source) -> None:
        """Raises StepError (CONFIGURATION) for a file that cannot be read."""
        self._project = source.project
        self._default = ""
        self._remotes: dict[str, Options] = {}
        for file, text, folder in _files(source):
            for section, options in _sections(file, text):
                if section == "core":
                    self._default = str(options.get("remote", self._default)).lower()
                elif named := _REMOTE.fullmatch(section):
                    self._remotes.setdefault(named[1], {}).update(_absolute(options, folder))

    @property
    def names(self) -> list[str]:
        return sorted(self._remotes)

    def remote(self, name: str | None) -> Remote:
        """The remote of this name; None: the default one.

        Raises StepError (CONFIGURATION) for one that is not there, that argosy cannot read, or that shows credentials.
        """
        name = (name or self._require_default()).lower()
        options = self.options(name)
        if any(str(options.get(option)).lower() == "true" for option in ("version_aware", "worktree")):
            _refuse(name, "is version-aware, which argosy cannot read; name another")
        url, endpoint = options["url"], str(options.get("endpointurl", ""))
        parts = _split(name, url)
        if not _URL.match(url):
            return Remote(name=name, url=self._folder(url))
        if parts.scheme not in STORES or not parts.netloc:
            _refuse(name, f"is of kind {parts.scheme}://, which argosy cannot read; {READABLE}")
        return Remote(
            name=name,
            url=url.rstrip("/"),
            endpoint=_split(name, endpoint).geturl(),
            region=str(options.get("region", "")),
            account=str(options.get("account_name", "")),
        )

    def _folder(self, path: str) -> str:
        """A folder within the project moves with it, to wherever a pod finds the project; any other stays."""
        inside = os.path.relpath(path, self._project)
        outside = inside == os.pardir or inside.startswith(f"{os.pardir}{os.sep}")
        return FOLDER + os.path.normpath(self._project.absolute() / path) if outside else inside

    def options(self, name: str, referring: tuple[str, ...] = ()) -> Options:
        """All that is configured for a remote, with what it has from one that its url refers to.

        Raises StepError (CONFIGURATION).
        """
        if name in referring:
            _refuse(name, "its url leads back to itself")
        if name not in self._remotes:
            _refuse(name, f"{CONFIG} has none of this name; it has {', '.join(self.names) or 'none at all'}")
        options = self._remotes[name]
        url = options.get("url")
        if not isinstance(url, str) or not url:
            _refuse(name, f"has no url; run `dvc remote modify {name} url URL`")
        if not url.startswith("remote://"):
            return options
        parts = _split(name, url)
        base = self.options(parts.netloc.lower(), (*referring, name))
        return {**base, **options, "url": f"{base['url']}/{parts.path.lstrip('/')}"}

    def _require_default(self) -> str:
        if not self._default:
            raise configuration_error(f"{self._project / CONFIG}: names no default remote; run `dvc remote add -d`")
        return self._default


def secrets(project: Path, name: str) -> dict[str, str]:
    """The credentials that DVC's configuration here holds for a remote, by DVC's names of them; none: {}.

    They are for this process alone: not to be printed, nor to be written anywhere. Raises StepError (CONFIGURATION).
    """
    remotes = Remotes(Source(project, ""))
    options = remotes.options(name.lower()) if name.lower() in remotes.names else {}
    return {option: str(options[option]) for option in SECRETS if option in options}


def _files(source: Source) -> Iterator[tuple[str, str, Path]]:
    """DVC's configuration files: name, text, and folder. Each shadows those before it."""
    for variable, folder in (
        ("DVC_SYSTEM_CONFIG_DIR", platformdirs.site_config_dir("dvc", "iterative")),
        ("DVC_GLOBAL_CONFIG_DIR", platformdirs.user_config_dir("dvc", "iterative")),
    ):
        yield from _on_disk(Path(os.environ.get(variable) or folder) / "config")
    text = source.read(CONFIG)
    if text is not None:
        yield CONFIG, text, source.project / ".dvc"
    yield from _on_disk(source.project / LOCAL)


def _on_disk(file: Path) -> Iterator[tuple[str, str, Path]]:
    try:
        yield str(file), file.read_text(encoding="utf-8"), file.parent
    except (FileNotFoundError, NotADirectoryError):
        return
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is no UTF-8 text"
        raise configuration_error(f"{file}: {reason}; it says where DVC remotes are: correct that") from None


def _sections(file: str, text: str) -> Iterator[tuple[str, Options]]:
    """Section -> what it holds, in lower case as DVC takes it. What stands in a faulty line is not repeated."""
    try:
        content = ConfigObj(text.splitlines(keepends=True)).dict()
    except ConfigObjError as error:
        line = error.errors[0].line_number if hasattr(error, "errors") else None
        at = f"{file}:{line}" if line else file
        raise configuration_error(f"{at}: cannot be read, and it says where DVC remotes are; correct it") from None
    for section, options in content.items():
        if isinstance(options, dict):
            yield section.lower(), {option.lower(): value for option, value in options.items()}


def _absolute(options: Options, folder: Path) -> Options:
    """With paths made whole. A URL stays as it is (dvc/config.py, _resolve)."""
    paths = {
        option: os.path.abspath(folder / os.path.expanduser(text))  # noqa: PTH100, PTH111 - as DVC: no link resolved
        for option in PATHS
        if isinstance(text := options.get(option), str) and text and not _URL.match(text)
    }
    return {**options, **paths}


def _split(name: str, url: str) -> SplitResult:
    """The parts of an address, which goes into pins and manifests. Raises StepError for one with credentials in it."""
    try:
        parts = urlsplit(url)
    except ValueError:
        _refuse(name, "its url is none; correct it with `dvc remote modify`")
    if parts.scheme and ("@" in parts.netloc or parts.query):
        remedy = f"`dvc remote modify --local {name}` keeps them in options of their own, and pods have an environment"
        _refuse(name, f"its address holds credentials; {remedy}")
    return parts


def _refuse(name: str, what: str) -> NoReturn:
    raise configuration_error(f"DVC remote {name}: {what}")
