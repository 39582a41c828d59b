"""The reference pipeline on a real Argo: from S3 to a registered version, and what its users see of it."""

import json
import re
import warnings

import mlflow
import pytest
from testcluster.digits import git

PLACES_AND_TIMES = {
    "seconds": "how long it took",
    "record": "repeats the others, times among them",
    "samples-per-second": "how quick the machine was",
    "save-seconds": "how quick its disk was",
    "stall-seconds": "how quick its memory was",
    "fetched-bytes": "what the node's cache had already",
    "hits": "how many files of it",
    "node": "where it ran",
    "model": "begins with the run's name",
    "model-hash": "torch.export notes in the file where the code lies",
    "machine": "which one it was",
    "version": "the next one of the registry",
    "champion": "the same, of that registry",
    "model-uri": "ends in the version",
    "summary": "tells all of these in words",
}
"""Outputs that differ between a cluster and one machine, and why."""


@pytest.fixture(scope="module")
def run(cluster) -> dict:
    """A run of the pipeline that has ended."""
    ended = json.loads(cluster.argosy(cluster.project, "submit", "digits", "-c", "--watch", "--json"))
    return cluster.workflow(ended["name"])


@pytest.fixture(scope="module")
def version(cluster, run):
    """The version that the run has registered."""
    client = mlflow.MlflowClient(tracking_uri=cluster.mlflow)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (found,) = client.search_model_versions(f"tags.`argosy.run_uid` = '{run['metadata']['uid']}'")
    return found


def node(workflow: dict, name: str) -> dict:
    return next(one for one in workflow["status"]["nodes"].values() if one["displayName"] == name)


def outputs(one: dict) -> dict[str, str]:
    return {each["name"]: each["value"] for each in one.get("outputs", {}).get("parameters", [])}


def test_a_run_registers_one_version_that_carries_its_commit_and_data(cluster, run, version):
    assert run["status"]["phase"] == "Succeeded"
    assert version.tags["argosy.revision"] == git(cluster.project, "rev-parse", "HEAD")
    assert version.tags["argosy.dataset_hash"] == outputs(node(run, "stage"))["dataset-hash"]


def test_the_registered_model_is_in_the_bucket(cluster, version):
    model = mlflow.MlflowClient(tracking_uri=cluster.mlflow)
    logged = version.source.split("/")[-2]
    assert {"MLmodel", "recipe"} <= {one.path for one in model.list_logged_model_artifacts(logged)}


def test_submitting_again_shows_the_same_run(cluster, run):
    said = cluster.argosy(cluster.project, "submit", "digits", "-c")
    assert f"run {run['metadata']['name']} exists" in said


def test_one_machine_gives_the_same_nodes_phases_and_outputs(cluster, run):
    cluster.argosy(cluster.project, "run", "digits")
    local = json.loads(cluster.argosy(cluster.project, "show", "--json"))
    assert compared(local) == compared(run)


def test_what_the_cluster_registered_is_made_again_on_one_machine_by_one_command(cluster, version):
    model = f"models:/{version.name}/{version.version}"
    told = json.loads(cluster.argosy(cluster.project, "reproduce", model, "--tracking-uri", cluster.mlflow, "--json"))
    assert told["answer"] == "same within tolerance", told
    assert {"machine", "result"} >= {one["heading"] for one in told["differences"]}, "nothing else may differ"


def test_the_run_is_shown_with_a_title_that_names_pipeline_and_commit(cluster, run):
    notes = run["metadata"]["annotations"]
    commit = git(cluster.project, "rev-parse", "HEAD")
    assert notes["workflows.argoproj.io/title"] == f"digits {commit[:7]}"
    assert notes["workflows.argoproj.io/description"]


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("stage", r"8 files, 3\.7 MB"),
        ("train", r"validation accuracy 0\.\d+ after [\d,]+ steps"),
        ("accuracy-gate", r"pass: accuracy 0\.\d+ \(lower bound 0\.\d+ at 95 %\) reaches 0\.9"),
        ("latency-gate", r"pass: p99 latency [\d.]+ ms \(upper bound [\d.]+ ms at 95 %\) keeps within 50 ms"),
        ("publish", r"digits version \d+, now champion"),
    ],
)
def test_each_node_says_what_came_out_in_its_first_output(run, step, words):
    first = node(run, step)["outputs"]["parameters"][0]
    assert first["name"] == "summary"
    assert re.match(words, first["value"])


def test_planted_secrets_are_in_no_manifest_log_or_record(cluster, run, version):
    log = cluster.argosy(cluster.project, "logs", run["metadata"]["name"], "-c")
    client = mlflow.MlflowClient(tracking_uri=cluster.mlflow)
    recorded = json.dumps(client.get_run(version.run_id).to_dictionary()) + json.dumps(version.tags)
    assert "train | step" in log, "the log is there to be searched"
    for place in (json.dumps(run), log, recorded):
        assert cluster.stores["AWS_SECRET_ACCESS_KEY"] not in place
        assert cluster.token not in place


def test_training_sees_the_keys_of_the_metrics_server_alone_and_gates_see_none(run):
    templates = {one["name"]: one for one in run["spec"]["templates"]}
    for name, allowed in (("train", {"argosy-registry"}), ("accuracy-gate", set()), ("latency-gate", set())):
        sources = [source for one in templates[name]["container"].get("envFrom", []) for source in one.values()]
        assert {source["name"] for source in sources} == allowed, f"users' code runs in {name}"
        assert not any("secret" in volume for volume in templates[name]["volumes"])


def compared(workflow: dict) -> dict[str, tuple]:
    """What must be the same wherever a manifest runs, by the name of each node."""
    name = workflow["metadata"]["name"]
    return {
        one["name"].removeprefix(name): (
            one["type"],
            one["phase"],
            one.get("message"),
            {key: value for key, value in steady(outputs(one)).items() if key not in PLACES_AND_TIMES},
        )
        for one in workflow["status"]["nodes"].values()
    }


def steady(values: dict[str, str]) -> dict[str, str]:
    """A latency is measured anew by each run; of its verdict the answer and the threshold stay."""
    if "verdict" not in values:
        return values
    verdict = json.loads(values["verdict"])
    kept = {key: verdict[key] for key in ("gate", "answer", "metric", "threshold", "confidence", "samples")}
    return values | {"verdict": json.dumps(kept)}
