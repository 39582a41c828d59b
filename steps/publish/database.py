"""MLflow's tables in a SQLite file, whole or not at all.

MLflow makes them in place by dozens of migrations. Killed among them, or with two processes at it, it leaves a file on
which every later attempt fails (`duplicate column name`). So they are made under another name, by one process.
"""

import fcntl
import os
from pathlib import Path

from argosy.steps import files

SQLITE = "sqlite:///"


def ensure(path: Path) -> None:
    """The database is there, with its tables."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            _make(path)
    finally:
        os.close(lock)


def _make(path: Path) -> None:
    from mlflow import MlflowClient

    for leftover in path.parent.glob(f"{files.PARTIAL}*"):
        leftover.unlink()
    temporary = files.partial(path.parent)
    uri = f"{SQLITE}{temporary}"
    # Opening the registry makes its tables; opening tracking adds the default experiment.
    client = MlflowClient(uri, uri)
    client.search_registered_models(max_results=1)
    client.search_experiments(max_results=1)
    temporary.rename(path)
    files.sync_folder(path.parent)
