"""A model that a gate refuses, as whoever opens the Argo UI sees it."""

import json
import re

import pytest
import requests


@pytest.fixture(scope="module")
def run(cluster, tmp_path_factory) -> dict:
    """A run of a pipeline whose gates leave reports, with a threshold that no model reaches."""
    pipeline = tmp_path_factory.mktemp("reports") / "digits.py"
    text = (cluster.project / "pipelines" / "digits.py").read_text()
    pipeline.write_text(text.replace("\n    image=", "\n    reports=True,\n    image="))
    manifest = cluster.argosy(cluster.project, "compile", str(pipeline))
    words = ["submit", "-", "-c", "--watch", "--json", "-p", "accuracy-at-least=0.9999", "-p", "epochs=1"]
    ended = json.loads(cluster.argosy(cluster.project, *words, stdin=manifest, code=3))
    return cluster.workflow(ended["name"])


def node(run: dict, name: str) -> dict:
    return next(one for one in run["status"]["nodes"].values() if one["displayName"] == name)


def test_the_nodes_message_says_why(run):
    message = node(run, "accuracy-gate(0)")["message"]
    assert re.search(r"exit code 80\): accuracy 0\.\d+ \(upper bound 0\.\d+ at 95 %\) .* 0\.9999", message)


def test_it_is_a_result_and_not_tried_again(run):
    assert run["status"]["phase"] == "Failed"
    assert not any(one["displayName"] == "accuracy-gate(1)" for one in run["status"]["nodes"].values())


def test_nothing_is_published(run):
    assert node(run, "publish")["phase"] == "Omitted"


@pytest.mark.parametrize(("gate", "answer"), [("accuracy-gate", "fail"), ("latency-gate", "pass")])
def test_the_report_is_shown_by_argos_server_whole_and_without_script(cluster, run, gate, answer):
    name, identifier = run["metadata"]["name"], node(run, f"{gate}(0)")["id"]
    shown = requests.get(
        f"{cluster.argo_server}/artifact-files/{cluster.namespace}/workflows/{name}/{identifier}/outputs/report",
        headers={"Authorization": f"Bearer {cluster.token}"},
        timeout=30,
    )
    assert shown.status_code == 200, shown.text
    assert shown.headers["Content-Type"].startswith("text/html")
    # What that policy forbids would be missing from the page.
    assert "default-src 'none'" in shown.headers["Content-Security-Policy"]
    assert not re.search(r"<script|<link|<img|url\(|https?://(?!www\.w3\.org)", shown.text)
    assert answer in shown.text
    assert "<svg" in shown.text
