"""Paths inside a pod -> folders outside."""

from pathlib import Path

import pytest

from argosy.pipelines.local.paths import PathMap

PATHS = PathMap({"/data": Path("/host/data"), "/data/out": Path("/host/out"), "/tmp": Path("/host/tmp")})


@pytest.mark.parametrize(
    ("inside", "outside"),
    [
        ("/data", "/host/data"),
        ("/data/x.csv", "/host/data/x.csv"),
        ("--in=/data/x,/tmp/y", "--in=/host/data/x,/host/tmp/y"),
        ("/data/out/x", "/host/out/x"),
        ("sqlite:////data/x.db", "sqlite:////host/data/x.db"),
        ("cat </tmp/a >/tmp/b", "cat </host/tmp/a >/host/tmp/b"),
        ("open('/tmp/a')", "open('/host/tmp/a')"),
        ("/database", "/database"),
        ("/data.old", "/data.old"),
        ("./data/x", "./data/x"),
        ("~/tmp/x", "~/tmp/x"),
        ("${HOME}/tmp/x", "${HOME}/tmp/x"),
        ("/var/tmp/x", "/var/tmp/x"),
        ("s3://bucket/data/x", "s3://bucket/data/x"),
        ("no path", "no path"),
    ],
)
def test_only_whole_paths_are_replaced(inside, outside):
    assert PATHS.rewrite(inside) == outside


def test_the_longest_mapped_path_wins():
    assert PATHS.outside("/data/out/x") == Path("/host/out/x")


def test_a_path_that_is_not_mapped_is_an_error():
    with pytest.raises(KeyError):
        PATHS.outside("/etc/passwd")
