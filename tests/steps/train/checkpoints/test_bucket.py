"""Checkpoints in a bucket: as in a folder, with the troubles of a network."""

import threading

import objectstore
import pytest
import torch

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.stage import pace
from argosy.steps.train.checkpoints.bucket import Bucket
from argosy.steps.train.checkpoints.manifest import BLOCK

pytestmark = pytest.mark.skipif(bool(objectstore.missing()), reason=objectstore.missing())

URL = "s3://bucket/of/models"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("buckets")
    with objectstore.serving(folder) as server:
        yield folder, server


@pytest.fixture
def server(served, monkeypatch):
    """The server, which does everything right until it is told otherwise."""
    served[1].set()
    served[1].count_anew()
    for name, value in served[1].environment.items():
        monkeypatch.setenv(name, value)
    (served[0] / "bucket").mkdir(exist_ok=True)
    return served[1]


@pytest.fixture
def run(request):
    """A run of the test's own."""
    return request.node.name.replace("[", "-").replace("]", "")


@pytest.fixture
def impatient(monkeypatch):
    """Who asks again does so at once."""
    monkeypatch.setattr(pace, "LONGEST_WAIT_SECONDS", 0.01)


@pytest.fixture
def bucket(server, run):
    assert server.address
    return Bucket(URL, run)


@pytest.fixture
def objects(served, run):
    """The keys that are there, beneath the run's folder."""

    def found(pattern="*"):
        folder = served[0] / "bucket/of/models" / run
        return sorted(path.relative_to(folder) for path in folder.rglob(pattern) if path.is_file())

    return found


def test_a_checkpoint_of_several_blocks_comes_back_and_old_ones_are_removed(bucket, save, resume, objects):
    large = torch.arange(3 * BLOCK // 8 + 5)
    save(1, 2, 3, store=bucket, given=large)
    step, found = resume(bucket)
    assert step == 3
    assert torch.equal(found["given"], large)
    assert {path.parts[0][:13] for path in objects()} == {"step-00000002", "step-00000003"}
    assert len(objects("0*")) == 2 * 4


def test_the_manifest_comes_last_and_what_lacks_it_does_not_count_and_is_swept(bucket, save, resume, objects):
    save(1, 2, store=bucket)
    last = bucket.names()[-1]
    bucket._run(lambda ask: ask.delete([f"{last}/manifest.json"]), "removed")  # as a killed attempt leaves it
    assert resume(bucket)[0] == 1
    assert {path.parts[0][:13] for path in objects()} == {"step-00000001"}


@pytest.mark.parametrize("kind", ["wrong", "truncated", "missing"])
def test_a_damaged_object_is_named_set_aside_and_the_one_before_is_taken(
    *, kind, bucket, save, resume, server, objects, run, capsys
):
    save(1, 2, store=bucket)
    name = bucket.names()[-1]
    server.set(objects={f"bucket/of/models/{run}/{name}/part-00000/00000000": {"kind": kind}})
    assert resume(bucket)[0] == 1
    assert capsys.readouterr().err.startswith(f"checkpoint {URL}/{run}/{name}: is damaged: ")
    assert len(objects("manifest.json")) == len(objects("damaged.json")) == 1
    server.set()
    save(3, store=bucket)
    assert resume(bucket)[0] == 3
    assert objects("damaged.json") == []


@pytest.mark.parametrize("kind", ["wrong", "cut", "slow-down"])
def test_what_goes_wrong_on_the_way_is_asked_for_again(*, kind, bucket, save, resume, server, run):
    save(1, store=bucket)
    server.set(objects={f"bucket/of/models/{run}/{bucket.names()[0]}/part-00000/00000000": {"kind": kind, "times": 2}})
    assert resume(bucket)[0] == 1
    assert server.counters()["faults"] == {kind: 2}


def test_a_store_that_is_busy_gets_fewer_requests_and_all_of_a_checkpoint(bucket, save, resume, server):
    server.set(most_at_a_time=3, latency_ms=5)
    save(1, store=bucket, given=torch.zeros(4 * BLOCK, dtype=torch.uint8))
    assert server.counters()["faults"]["slow-down"] > 0
    assert resume(bucket)[0] == 1


@pytest.mark.usefixtures("impatient")
def test_a_store_that_is_away_is_temporary_and_nothing_is_set_aside(bucket, save, resume, server, run):
    save(1, 2, store=bucket)
    server.set(shares={"slow-down": 1})
    with pytest.raises(StepError, match=f"{URL}/{run}: does not answer: it answers 503") as caught:
        resume(bucket)
    assert caught.value.exit_code == ExitCode.TEMPORARY
    server.set()
    assert resume(bucket)[0] == 2


def test_a_store_that_refuses_is_a_matter_of_configuration(bucket, save, resume, server):
    save(1, store=bucket)
    server.set(shares={"forbidden": 1})
    with pytest.raises(StepError, match=r"may not be .*: it answers 403.*; give AWS_ACCESS_KEY_ID") as caught:
        resume(bucket)
    assert caught.value.exit_code == ExitCode.CONFIGURATION


def test_a_bucket_without_credentials_is_named_by_its_address(monkeypatch, tmp_path):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(StepError) as caught:
        Bucket(URL, "r")
    assert caught.value.exit_code == ExitCode.CONFIGURATION
    assert caught.value.message.startswith(f"{URL}/r: there are no credentials for it; give AWS_ACCESS_KEY_ID")


@pytest.mark.usefixtures("server")
def test_a_bucket_that_is_not_there_is_named(resume):
    with pytest.raises(StepError, match=r"s3://nowhere/x/r: .*there is no such bucket") as caught:
        resume(Bucket("s3://nowhere/x", "r"))
    assert caught.value.exit_code == ExitCode.CONFIGURATION


def test_the_commit_comes_after_the_last_block_and_the_fence(bucket, open_checkpoints, values, objects):
    seen = []

    def fence():
        seen.append([str(path.name) for path in objects()])

    checkpoints = open_checkpoints(bucket, fence=fence)
    checkpoints.save(1, {"part": values(x=torch.zeros(10))})
    checkpoints.finish()
    assert seen == [["00000000"]]
    assert [path.name for path in objects()] == ["manifest.json", "00000000"]


def test_it_can_be_saved_from_a_thread_and_resumed_in_another(bucket, save, resume):
    save(1, store=bucket)
    found = []
    thread = threading.Thread(target=lambda: found.append(resume(bucket)[0]))
    thread.start()
    thread.join()
    assert found == [1]
