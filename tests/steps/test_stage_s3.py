"""Staging out of a real S3 server: what it holds, and what is said when it refuses or is not there."""

import os
import shutil
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import boto3
import pytest

from argosy.steps.contracts import ExitCode, StageOutput

SERVER = Path(__file__).parents[2] / "build/cluster/bin/versitygw"
ACCESS, SECRET = "argosy-test", "a-secret-that-nobody-may-see"
BUCKET = "data"
DATASET = "data/digits"

pytestmark = pytest.mark.skipif(
    not SERVER.exists(), reason=f"staging from S3 was not tested: the S3 server {SERVER} is not built"
)


def environment(address, secret=SECRET, access=ACCESS):
    return {
        "AWS_ENDPOINT_URL": address,
        "AWS_ACCESS_KEY_ID": access,
        "AWS_SECRET_ACCESS_KEY": secret,
        "AWS_DEFAULT_REGION": "us-east-1",
        "HOME": "/nowhere",  # a developer's own ~/.aws says nothing here
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def answers(port):
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def server(folder):
    port = free_port()
    words = [SERVER, "--access", ACCESS, "--secret", SECRET, "--port", f"127.0.0.1:{port}", "posix", "--nometa", folder]
    log = folder.with_name("log")
    with log.open("wb") as output, subprocess.Popen(words, stdout=output, stderr=output) as process:
        try:
            deadline = time.monotonic() + 30
            while not answers(port):
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.05)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()


@pytest.fixture(scope="module")
def store(first_project, tmp_path_factory):
    """A project whose dataset lies in a bucket: `project`, and the server's `address`."""
    folder = tmp_path_factory.mktemp("s3")
    project = folder / "project"
    shutil.copytree(first_project, project, symlinks=True)
    (folder / "buckets").mkdir()
    with server(folder / "buckets") as address:
        known = environment(address)
        keys = {"aws_access_key_id": ACCESS, "aws_secret_access_key": SECRET, "region_name": "us-east-1"}
        boto3.client("s3", endpoint_url=address, **keys).create_bucket(Bucket=BUCKET)
        dvc = [sys.executable, "-m", "dvc"]
        for words in (["remote", "add", "--force", "--default", "store", f"s3://{BUCKET}/prefix"], ["push", "--quiet"]):
            subprocess.run([*dvc, *words], cwd=project, check=True, env=os.environ | known)
        shutil.rmtree(project / ".dvc/cache")
        yield SimpleNamespace(project=project, address=address)


@pytest.fixture
def stage(store, run_step, tmp_path):
    def call(env):
        done = run_step(
            "stage",
            env=env,
            dataset=DATASET,
            project=store.project,
            cache=tmp_path / "cache",
            output=tmp_path / "output",
        )
        assert "Traceback" not in done.stderr
        assert SECRET not in done.stderr
        return done

    return call


def test_a_dataset_in_a_bucket_is_staged_with_place_and_keys_from_the_environment(store, stage, shards, tmp_path):
    done = stage(environment(store.address))
    assert done.exit_code == ExitCode.OK, done.stderr
    output = StageOutput.model_validate_json((tmp_path / "output/record.json").read_bytes())
    folder = tmp_path / "cache/datasets" / output.dataset_hash.removesuffix(".dir") / "data"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        path.name: path.read_bytes() for path in shards.iterdir()
    }
    assert output.summary.startswith(f"{output.files} files, ")
    assert "MB fetched at" in output.summary


@pytest.mark.parametrize("wrong", [{"secret": "wrong"}, {"access": "nobody"}])
def test_wrong_keys_are_a_matter_of_configuration_and_the_variables_are_named(wrong, store, stage):
    done = stage(environment(store.address, **wrong))
    assert done.exit_code == ExitCode.CONFIGURATION, done.stderr
    assert done.stderr.startswith("DVC remote store: ")
    assert "AWS_SECRET_ACCESS_KEY" in done.stderr
    assert done.stderr.count("\n") == 1


def test_missing_keys_are_a_matter_of_configuration(store, stage):
    known = environment(store.address) | {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}
    done = stage(known)
    assert done.exit_code == ExitCode.CONFIGURATION, done.stderr
    assert "AWS_SECRET_ACCESS_KEY" in done.stderr


def test_a_server_that_is_not_there_is_a_temporary_failure(stage):
    started = time.monotonic()
    done = stage(environment(f"http://127.0.0.1:{free_port()}"))
    assert done.exit_code == ExitCode.TEMPORARY, done.stderr
    assert done.stderr.splitlines()[-1].startswith("DVC remote store: ")
    assert time.monotonic() - started < 60


def test_a_bucket_that_is_not_there_is_told(store, stage):
    config = store.project / ".dvc/config"
    before = config.read_text()
    config.write_text(before.replace(f"s3://{BUCKET}", "s3://nowhere"))
    try:
        done = stage(environment(store.address))
    finally:
        config.write_text(before)
    assert done.exit_code in (ExitCode.DATA, ExitCode.CONFIGURATION), done.stderr
