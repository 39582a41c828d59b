"""The same manifest here and on Argo: the same nodes, types, phases, messages and outputs.

Every manifest of `parity/` is submitted under the name that its run has here. Argo makes the names of nodes and pods
from it, so that they are the same by construction and stand in the comparison.
"""

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from argosy.pipelines.local.runner import LocalRuns, Submission
from argosy.pipelines.status import Node, NodeFlag, Status, Values

MANIFESTS = {path.stem: path for path in sorted(Path(__file__).with_name("parity").glob("*.yaml"))}
IMAGE = "localhost/argosy/base:1"  # stands in them for one with python and sh
AT_ONCE = 8  # runs on Argo: with more, pods wait so long for a place that deadlines meet them before they run
SECONDS = 300  # for one of them

DEADLINE = "(deadline)"
ENDED_BY_A_DEADLINE = (DEADLINE, "retry exceeded workflow deadline (time)")
"""The controller and the kubelet both end pods whose deadline has come: which of them has the last word, and whether an
exit code is still reported, changes from run to run."""

# What messages say that is a machine's own, or that is said otherwise on purpose (docs/local-runs.md).
OWN_WORDS = (
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0000 UTC"), "(time)"),  # a deadline
    (re.compile(r"(time=\S+ level=\S+ msg=.* argo=true.*|Error: exit status \d+)\n"), ""),  # Argo's lines in a log
    (re.compile(r"^(Step exceeded its|Pod was active on the node longer than the specified) deadline$"), DEADLINE),
    (re.compile(r"^(wait: Error \(exit code 64\)): .*"), r"\1"),  # a missing output
)


@pytest.fixture(scope="module")
def submissions(cluster, request, tmp_path_factory) -> dict[str, tuple[LocalRuns, Submission]]:
    """Of the manifests that this session asks for."""
    asked = [item.callspec.params["name"] for item in request.session.items if item.module is request.module]
    return {name: _prepared(name, tmp_path_factory.mktemp(name), cluster) for name in asked}


@pytest.fixture(scope="module")
def on_argo(cluster, submissions) -> Iterator[Mapping[str, "Future[Status]"]]:
    """All runs on Argo, which go on while the tests run theirs."""
    names = {name: submission.name for name, (_, submission) in submissions.items()}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {name: pool.submit(_run, cluster, name, submitted) for name, submitted in names.items()}
        pool.shutdown(cancel_futures=True)
    cluster.kubectl("delete", "workflows", *names.values(), f"--namespace={cluster.namespace}", "--ignore-not-found")


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_run_here_ends_as_it_does_on_argo(name, submissions, on_argo):
    runs, submission = submissions[name]
    here = runs.start(submission, lambda _: None)
    there = on_argo[name].result()
    difference = "\n".join(difflib.unified_diff(_lines(there), _lines(here), "Argo", "here", lineterm="", n=12))
    if difference:
        pytest.fail(difference, pytrace=False)


def _prepared(name: str, project: Path, cluster) -> tuple[LocalRuns, Submission]:
    runs = LocalRuns(project)
    return runs, runs.prepare(_named(name, name, cluster), {})


def _named(manifest: str, name: str, cluster) -> str:
    """A manifest's own text, so that both read the same, with a name."""
    text = MANIFESTS[manifest].read_text().replace(IMAGE, cluster.small_image)
    return f"{text}metadata: {{name: {name}, namespace: {cluster.namespace}}}\n"


def _run(cluster, manifest: str, name: str) -> Status:
    one = (f"workflow/{name}", f"--namespace={cluster.namespace}")
    cluster.kubectl("delete", *one, "--ignore-not-found")
    cluster.kubectl("create", "-f", "-", stdin=_named(manifest, name, cluster))
    completed = r"jsonpath={.metadata.labels.workflows\.argoproj\.io/completed}=true"
    cluster.kubectl("wait", *one, f"--for={completed}", f"--timeout={SECONDS}s")
    document = json.loads(cluster.kubectl("get", *one, "--output=json"))
    return msgspec.convert(document["status"], Status)


def _lines(status: Status) -> list[str]:
    """What a status says, apart from times and places, as text."""
    said = {
        "phase": status.phase,
        "message": _message(status.message),
        "progress": status.progress,
        "outputs": _values(status.outputs),
        "nodes": {node.name: _node(node) for node in status.nodes.values()},
    }
    return json.dumps(said, indent=1, sort_keys=True).splitlines()


def _node(node: Node) -> dict:
    """A node without its times and its host, which are a machine's own."""
    message, outputs = _message(node.message), _values(node.outputs)
    if message in ENDED_BY_A_DEADLINE:
        del outputs["exitCode"]
    return {
        "id": node.id,
        "displayName": node.display_name,
        "type": node.type,
        "phase": node.phase,
        "message": message,
        "template": [node.template_scope, node.template_name],
        "boundary": node.boundary_id,
        "children": sorted(node.children),  # drawn in the order in which a controller comes to them
        "outbound": sorted(node.outbound_nodes),
        "progress": node.progress,
        "flag": msgspec.to_builtins(node.node_flag or NodeFlag()),  # Argo writes one without content as well
        "inputs": _values(node.inputs),
        "outputs": outputs,
    }


def _values(values: Values | None) -> dict:
    """Inputs or outputs, none and empty ones alike."""
    values = values or Values()
    return {
        "parameters": {parameter.name: parameter.value for parameter in values.parameters},
        "artifacts": {file.name: [file.path, file.s3, file.raw] for file in values.artifacts},
        "result": values.result,
        "exitCode": values.exit_code,
    }


def _message(message: str) -> str:
    for words, instead in OWN_WORDS:
        message = words.sub(instead, message)
    return message
