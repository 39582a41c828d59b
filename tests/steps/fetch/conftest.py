"""Remotes that a test fills and breaks: a bucket of a real S3 server that fails on demand, and a folder."""

import hashlib
import os
import uuid
from pathlib import Path

import dvcremote
import objectstore
import pytest

from argosy.steps.cache.blobs import Blobs
from argosy.steps.errors import StepError
from argosy.steps.pins import Pin, PinnedSource, Remote
from argosy.steps.stage import fetch, listing, pace, store
from argosy.steps.stage.fetch import Wanted
from argosy.steps.stage.pace import Pace

PATH = "data/set"


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    if why := objectstore.missing():
        pytest.skip(f"fetching out of S3 was not tested: {why}")
    folder = tmp_path_factory.mktemp("buckets")
    with objectstore.serving(folder) as serving:
        yield serving, folder


class World:
    """A remote, what is in it, and a cache to fetch into."""

    def __init__(self, remote: Remote, folder: Path, cache: Path, project: Path) -> None:
        self.remote, self.folder, self.project = remote, folder, project
        folder.mkdir(parents=True, exist_ok=True)
        self.cache = cache
        self.blobs = Blobs(cache)
        self.dataset = None

    def fill(self, files):
        """Puts a dataset into the remote: {path: content}."""
        self.dataset = dvcremote.write(self.folder, files.items())
        return self.dataset

    def source(self, **changed):
        fields = {"path": PATH, "hash": self.dataset.hash, "files": self.dataset.files, "bytes": self.dataset.bytes}
        return PinnedSource(**{**fields, "remote": self.remote, **changed})

    def pin(self, **changed):
        return Pin(dataset=PATH, revision="", sources=(self.source(**changed),))

    def opened(self):
        return store.opened(self.remote, self.project)

    def entries(self, **changed):
        return listing.entries(self.opened(), self.source(**changed))

    def object(self, path):
        return dvcremote.place(self.folder, self.dataset.objects[path])

    def fetch(self, pace=None, report=lambda *_: None, entries=None):
        remote = self.opened()
        wanted = [Wanted(one.md5, one.path, remote) for one in entries or self.entries()]
        return fetch.fetch(wanted, self.blobs, pace or Pace(), report)

    def refusal(self, exit_code, call=None):
        with pytest.raises(StepError) as caught:
            (call or self.fetch)()
        assert caught.value.exit_code == exit_code, caught.value.message
        assert "\n" not in caught.value.message
        return caught.value.message

    def staged(self):
        """Which files of the dataset are among the blobs."""
        return {path for path, md5 in self.dataset.objects.items() if self.blobs.has(md5)}

    def wrong_blobs(self):
        blobs = [path for path in (self.cache / "blobs").rglob("*") if path.is_file()]
        return [path for path in blobs if hashlib.md5(path.read_bytes()).hexdigest() != path.parent.name + path.name]


class Bucket(World):
    """With the server's faults and counters."""

    def __init__(self, serving, *rest) -> None:
        super().__init__(*rest)
        self._serving = serving

    def key(self, path):
        return str(self.object(path).relative_to(self.folder.parents[2]))

    def set(self, *, kinds=None, times=0, **faults):
        """Sets the server's faults; `kinds` {path: kind}, each met so many times (0: always)."""
        objects = {self.key(path): {"kind": kind, "times": times} for path, kind in (kinds or {}).items()}
        self._serving.set(objects=objects, **faults)

    def counters(self):
        return self._serving.counters()

    def count_anew(self):
        self._serving.count_anew()

    @property
    def environment(self):
        return self._serving.environment


@pytest.fixture
def bucket(server, tmp_path, monkeypatch):
    serving, folder = server
    for name, value in serving.environment.items():
        monkeypatch.setenv(name, value)
    name = uuid.uuid4().hex
    remote = Remote(name="store", url=f"s3://{name}/some/prefix")
    world = Bucket(serving, remote, folder / name / "some/prefix", tmp_path / "cache", tmp_path)
    serving.count_anew()
    yield world
    serving.set()
    assert world.wrong_blobs() == []


@pytest.fixture
def folder(tmp_path):
    world = World(Remote(name="store", url="remote"), tmp_path / "remote", tmp_path / "cache", tmp_path)
    yield world
    assert world.wrong_blobs() == []


@pytest.fixture(params=["bucket", "folder"])
def world(request):
    """Each kind of remote in turn."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def hurried(monkeypatch):
    """Asks again at once, and not after seconds."""
    monkeypatch.setattr(pace, "FIRST_WAIT_SECONDS", 0.001)
    monkeypatch.setattr(pace, "LONGEST_WAIT_SECONDS", 0.01)


@pytest.fixture
def content():
    """Bytes that no other call gives: `content(size)`."""
    return os.urandom
