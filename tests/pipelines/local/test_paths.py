"""Paths inside a pod -> folders outside."""

from pathlib import Path

import pytest

from argosy.pipelines.local.paths import OutsideError, PathMap

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
        ("s3://data/x", "s3://data/x"),
        ("file:///data/x", "file:///host/data/x"),
        ("no path", "no path"),
    ],
)
def test_only_whole_paths_are_replaced(inside, outside):
    assert PATHS.rewrite(inside) == outside


def test_the_longest_mapped_path_wins():
    assert PATHS.outside("/data/out/x") == Path("/host/out/x")


def test_a_path_that_is_not_mapped_is_an_error():
    with pytest.raises(OutsideError):
        PATHS.outside("/etc/passwd")


OUTSIDE = {
    "an artifact's key": {
        "outputs": {"artifacts": [{"name": "a", "path": "/tmp/a", "s3": {"key": "../../../stolen"}}]}
    },
    "an output's path": {"outputs": {"parameters": [{"name": "a", "valueFrom": {"path": "/tmp/../../../../stolen"}}]}},
    "a claim": {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "../../stolen"}}]},
    "a host path": {"volumes": [{"name": "v", "hostPath": {"path": "/../../../stolen"}}]},
    "a sub-path": {"volumes": [{"name": "v", "emptyDir": {}}], "mount": {"subPath": "../../../../../stolen"}},
}


@pytest.mark.parametrize("kind", OUTSIDE)
def test_nothing_in_a_manifest_leads_out_of_the_projects_folder(run, tmp_path, kind):
    fields = dict(OUTSIDE[kind])
    script = {"image": "x", "command": ["sh"], "source": "echo x > /tmp/a; echo x > /v/x"}
    mount = {"name": "v", "mountPath": "/v", **fields.pop("mount", {})}
    fields.setdefault("volumes", [{"name": "v", "emptyDir": {}}])
    ended = run(
        {"entrypoint": "a", "templates": [{"name": "a", "script": {**script, "volumeMounts": [mount]}, **fields}]}
    )
    assert ended.status.phase == "Error"
    assert "leads out of its folder" in ended.status.message
    assert list(tmp_path.parent.rglob("stolen")) == []
