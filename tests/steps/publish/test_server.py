"""Publishing to an MLflow server that keeps its files in S3: as to a database, and when the server is in trouble."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from argosy.steps import files
from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.gates import Answer, Comparison
from argosy.steps.publish import comparison, published, reading, step, turn
from argosy.steps.publish.client import connected
from argosy.steps.publish.versions import Versions
from argosy.steps.registry import RecipeInput

GATE = "champion-gate"


@pytest.fixture
def to(server, fresh, request):
    """Inputs of a publish to the server, under a name that no other test has."""
    name = request.node.name.split("[")[0]

    def inputs(uid, **changes):
        return fresh(uid, **{"tracking_uri": server, "folder": None, "registry": name} | changes)

    return inputs


def found(client, name):
    return sorted(client.search_model_versions(f"name = '{name}'"), key=lambda one: int(one.version))


def test_what_is_published_to_a_server_lies_in_s3_and_is_read_back_whole(to, bucket, tmp_path):
    made = to("uid-1")
    assert step.run(made).version == 1
    assert len(list(bucket[1].rglob("model.pt2"))) >= 1
    with connected(made.tracking_uri) as client:
        versions = Versions(client, made.registry)
        folder = published.model(versions, published.held(versions, "champion"), tmp_path)
        (version,) = found(client, made.registry)
        assert client.get_logged_model(version.source.split("/")[-2]).status == "READY"
    assert files.sha256(folder / "model.pt2") == made.model_hash
    where = {"registry": made.registry, "tracking_uri": made.tracking_uri}
    assert reading.run(RecipeInput(output=tmp_path, version="@champion", **where)).recipe.run_uid == "uid-1"


def test_a_server_before_s3_takes_large_files_in_parts_without_being_told_to(server):
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    with connected(server):
        repository = get_artifact_repository("mlflow-artifacts:/models", tracking_uri=server)
        assert repository._is_multipart_upload_enabled()


def test_a_file_that_the_store_has_lost_is_said_with_its_version(to, bucket, tmp_path):
    made = to("uid-1")
    step.run(made)
    with connected(made.tracking_uri) as client:
        versions = Versions(client, made.registry)
        version = published.held(versions, "champion")
        (lost,) = bucket[1].rglob(f"{version.location.split('/')[-2]}/artifacts/data/model/model.pt2")
        lost.unlink()
        with pytest.raises(StepError, match=r"version 1: has no data/\*/model\.pt2") as caught:
            published.model(versions, version, tmp_path)
    assert caught.value.exit_code == ExitCode.DATA


def until_done(made):
    """As a workflow does: what failed for a time is tried again."""
    while True:
        try:
            return step.run(made)
        except StepError as error:
            if error.exit_code != ExitCode.TEMPORARY:
                raise


def test_a_server_that_answers_late_twice_or_with_errors_has_one_version_for_each_run_and_no_worse_champion(
    to, troubled, verdict, monkeypatch, server
):
    monkeypatch.setattr(turn, "LOOK_SECONDS", 0.1)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR", "0")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_BACKOFF_JITTER", "0")

    def again(given, gate):
        answer = Answer.FAIL if given.run_uid.startswith("worse") else Answer.PASS
        with connected(server) as client:
            champion = Versions(client, given.registry).holder(given.alias)
        return verdict(gate, answer, champion=champion)

    monkeypatch.setattr(comparison, "again", again)
    address, trouble = troubled
    changes = {
        "tracking_uri": address,
        "verdicts": {GATE: verdict(GATE, champion=None)},
        "comparisons": {GATE: Comparison(confidence=0.95, margin=0.01)},
    }
    until_done(to("good-0", **changes))
    uids = ["worse-1", "good-1", "worse-2", "good-2", "worse-3"]
    over, champions = threading.Event(), set()
    with connected(server) as client, ThreadPoolExecutor(len(uids) + 1) as pool:
        watched = pool.submit(watch, client, to("x").registry, over, champions)
        outputs = list(pool.map(until_done, [to(uid, **changes) for uid in uids]))
        trouble.drain()
        over.set()
        watched.result()
        assert all(count > 0 for count in trouble.count.values()), trouble.count
        last = step.run(to("good-3", **changes))
        versions = found(client, to("x").registry)
        uid_of = {int(one.version): one.tags["argosy.run_uid"] for one in versions}
        assert sorted(uid_of.values()) == sorted(["good-0", *uids, "good-3"])
        assert {uid_of[one.version] for one in outputs} == set(uids)
        assert last.champion == last.version == max(uid_of)
        assert not [one for one in champions if uid_of.get(one, "worse").startswith("worse")]
        for one in versions:
            worse = one.tags["argosy.run_uid"].startswith("worse")
            wanted = {"challenger"} if worse else {"champion", "superseded"}
            assert one.tags["argosy.decision"] in wanted
            assert client.get_logged_model(one.source.split("/")[-2]).status == "READY"


def watch(client, name, over, champions):
    versions = Versions(client, name)
    while not over.wait(0.1):
        champions.add(versions.holder("champion"))
