"""Writes what is staged: `staging_data.py FOLDER NAME=FILESxBYTES ...`.

FOLDER/buckets/data/NAME gets a DVC remote of random files, the same in every run, and FOLDER/projects/NAME a git
repository whose data.dvc names them. It is a program of its own so that the bytes do not count as the memory of the
process that starts the measured ones.
"""

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from borrowed import dvcremote

BUCKET, DATA = "data", "data"
PER_FOLDER = 1000
CONFIG = """[core]
    remote = store
    analytics = false
    check_update = false
['remote "store"']
    url = s3://{bucket}/{name}
"""
IDENTITY = {f"GIT_{role}_{what}": "bench@localhost" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def main(folder: Path, loads: list[str]) -> None:
    for load in loads:
        name, _, shape = load.partition("=")
        count, _, size = shape.partition("x")
        dataset = dvcremote.write(folder / "buckets" / BUCKET / name, _files(int(count), int(size)))
        _project(folder / "projects" / name, name, dataset)


def _files(count: int, size: int) -> Iterator[tuple[str, bytes]]:
    source = random.Random(count)
    for number in range(count):
        yield f"{number // PER_FOLDER:03d}/{number:06d}.bin", source.randbytes(size)


def _project(folder: Path, name: str, dataset: dvcremote.Dataset) -> None:
    (folder / ".dvc").mkdir(parents=True)
    (folder / ".dvc" / "config").write_text(CONFIG.format(bucket=BUCKET, name=name))
    (folder / ".dvc" / ".gitignore").write_text("/config.local\n/tmp\n/cache\n")
    (folder / ".gitignore").write_text(f"/{DATA}\n")
    (folder / f"{DATA}.dvc").write_text(dataset.dvc_file(DATA))
    for words in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message=Data"]):
        subprocess.run(["git", *words], cwd=folder, env=os.environ | IDENTITY, check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
