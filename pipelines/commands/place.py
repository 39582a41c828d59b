"""Where a command works: the project that the user stands in, and its runs."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from argosy.pipelines.commands.mistake import Mistake, unknown
from argosy.pipelines.project import project_of

if TYPE_CHECKING:
    from argosy.pipelines.local.store import Home, RunFolder
    from argosy.pipelines.runs import Run

HOME = ".argosy"


def project() -> Path:
    """The project that the working directory belongs to."""
    return project_of(Path.cwd() / "anything")


def home() -> "Home":
    """The project's runs."""
    from argosy.pipelines.local.store import Home

    return Home(project() / HOME)


def chosen(name: str | None, fits: Callable[["RunFolder"], bool] = lambda _: True, kind: str = "") -> "RunFolder":
    """The run of this name; without one, the newest that fits. Raises Mistake."""
    runs = home().runs()
    if name is None:
        found = next((run for run in runs if fits(run)), None)
        if found is None:
            which = f"no run {kind} in" if kind and runs else "no run in"
            raise Mistake(f"there is {which} {project()}; `{program('argosy')} run PIPELINE` makes one")
        return found
    by_name = {run.name: run for run in runs}
    if name not in by_name:
        raise unknown("run", name, by_name, f"`{program('argosy')} runs` lists the runs of {project()}")
    return by_name[name]


def running(folder: "RunFolder") -> Mistake:
    """What to say where a run that goes on cannot be begun."""
    follow = f"`{program('argosy')} logs {folder.name} --follow` follows it"
    return Mistake(f"run {folder.name} is running (process {folder.runner()}); {follow}")


def opened(folder: "RunFolder") -> "Run":
    """A run as it is now; one whose runner was killed is interrupted. Raises DamagedError."""
    from argosy.pipelines.runs import view

    is_abandoned = (
        folder.runner() is None
    )  # asked first: a run that ends in between has then ended, not lost its runner
    return view(folder.workflow(), is_abandoned=is_abandoned)


def program(name: str) -> str:
    """How the user can call a program that is installed beside this one."""
    beside = Path(sys.executable).parent / name
    if not beside.exists() or shutil.which(name) == str(beside):
        return name
    return shown(beside)


def shown(path: Path) -> str:
    """A path as the user can type it: short where it lies below the working directory."""
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)
