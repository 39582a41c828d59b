"""Caches to stage into, and programs that stage into them as pods do."""

import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from argosy.steps.cache.entry import Entry
from argosy.steps.cache.node_cache import NodeCache
from argosy.steps.cache.version import Version

STAGER = Path(__file__).with_name("stager.py")
CONTENTS = {"train/0.tar": b"zero", "train/1.tar": b"one" * 100, "labels.csv": b"a,b\n", "empty": b""}


def md5(content):
    return hashlib.md5(content).hexdigest()


class Node:
    """A cache, and what a test does with it."""

    def __init__(self, root):
        self.root = root
        self.cache = NodeCache(root)

    def begin(self):
        """The folder is a cache."""
        with self.cache.staging("none"):
            pass

    def view(self, key="k"):
        return self.root / "datasets" / key

    def data(self, key="k"):
        return self.view(key) / "data"

    def blob(self, content):
        return self.cache.blobs.path(md5(content))

    def stage(self, key="k", contents=CONTENTS, cache=None):
        """Publishes these files as a view, as the stage step does."""
        cache = cache or self.cache
        with cache.staging(key):
            return self.publish(key, contents, cache)

    def publish(self, key, contents, cache=None):
        cache = cache or self.cache
        self.add(contents, cache)
        version = Version(dataset="data/x", dataset_hash=md5(key.encode()), revision="c0ffee")
        return cache.publish(key, version, [Entry(path, md5(one)) for path, one in contents.items()], {})

    def add(self, contents, cache=None):
        blobs = (cache or self.cache).blobs
        by_md5 = {md5(one): one for one in contents.values()}
        for name in blobs.missing(by_md5):
            blobs.add(name, by_md5[name])

    def used(self, key, *, hours_ago):
        """The view was used last so long ago; below zero: in time to come."""
        when = time.time() - 3600 * hours_ago
        os.utime(self.view(key) / "version.json", (when, when))

    def views(self):
        return {path.name for path in (self.root / "datasets").iterdir()}

    def leftovers(self):
        return [path for name in ("partial", "trash", "locks") for path in (self.root / name).iterdir()]

    def read(self, key="k"):
        data = self.data(key)
        return {str(path.relative_to(data)): path.read_bytes() for path in data.rglob("*") if path.is_file()}


@pytest.fixture
def node(tmp_path):
    return Node(tmp_path / "cache")


@pytest.fixture
def stager():
    """Starts a program that stages, as a pod; `around` are words before its own, such as those of unshare."""

    def start(*words, around=(), **options):
        command = [*around, sys.executable, STAGER, *words]
        return subprocess.Popen(
            [str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
        )

    return start


@pytest.fixture
def python(tmp_path):
    """Runs a program to its end: its exit code, what it printed, and what it said. After the lines of a shell, if
    any, which mount something; that is unmounted with the program's end.
    """

    def run(code, *words, mounts="", **options):
        command = [sys.executable, "-c", code, *map(str, words)]
        if mounts:
            if os.geteuid() != 0 or sys.platform != "linux":
                pytest.skip("mounting needs Linux and root")
            script = tmp_path / "mounts.sh"
            script.write_text(f'set -e\n{mounts}\nexec "$@"\n')
            command = ["unshare", "--mount", "sh", str(script), *command]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **options)
        if "loop device" in done.stderr:
            pytest.skip(f"no loop devices here: {done.stderr}")
        return done.returncode, done.stdout.strip(), done.stderr.strip()

    return run
