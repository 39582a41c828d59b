"""Troubles that users of other systems reported with running workflows locally, each with the right answer."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from argosy.pipelines.compile import compiled
from argosy.pipelines.digits import digits
from argosy.steps.contracts import CONTRACTS, RECORD, RETRIED_EXIT_CODES, option

ARGOSY = Path(sys.executable).with_name("argosy")


def template(name, script, **fields):
    return {"name": name, "script": {"image": "x", "command": ["sh"], "source": script}, **fields}


def spec(*tasks, templates=(), **fields):
    return {"entrypoint": "main", **fields, "templates": [*templates, {"name": "main", "dag": {"tasks": list(tasks)}}]}


def parameter(name, value):
    return {"parameters": [{"name": name, "value": value}]}


SAY = template("say", "echo '{{inputs.parameters.text}}'", inputs={"parameters": [{"name": "text", "default": "none"}]})
FAIL = template("fail", "exit 3")


OUTPUTS = sorted(
    {option(field) for _, outputs in CONTRACTS.values() for field in outputs.model_fields} | {RECORD, "record"}
)


def test_l1_an_edit_of_the_manifest_takes_effect_and_no_pipeline_is_imported(tmp_path):
    """The runner executes the YAML and nothing else: every step's command is edited to say what it was given."""
    document = yaml.safe_load(compiled(digits))
    echo = f'echo "$@"; for name in {" ".join(OUTPUTS)}; do echo 0 > "/argosy/output/$name"; done'
    for one in document["spec"]["templates"]:
        if "container" in one:
            args = one["container"]["args"]
            one["container"] |= {"command": ["sh", "-c"], "args": [echo, "sh", *args], "workingDir": "/tmp"}
            one.pop("initContainers", None)
    edited = next(p for p in document["spec"]["arguments"]["parameters"] if p["name"] == "accuracy-at-least")
    edited["value"] = "0.42"
    document["metadata"].pop("labels")  # what stages nothing is no pipeline of argosy's, whose data would be pinned
    (tmp_path / "edited.yaml").write_text(yaml.safe_dump(document))
    ended = subprocess.run(
        [ARGOSY, "run", "edited.yaml"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONVERBOSE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    (log,) = (tmp_path / ".argosy/runs").glob("*/pods/*accuracy-gate*/main.log")
    imported = {line.split("'")[1] for line in ended.stderr.splitlines() if line.startswith("import '")}
    assert "--at-least=0.42" in log.read_text()
    assert "argosy.pipelines.local.runner" in imported
    assert imported.isdisjoint({"argosy.pipelines.digits", "argosy.pipelines.spec", "hera", "torch"})


def test_l2_a_loop_over_nothing_is_skipped_and_its_dependents_run(run):
    ended = run(
        spec(
            {"name": "loop", "template": "say", "withParam": "[]"},
            {"name": "after", "template": "say", "depends": "loop"},
            templates=[SAY],
        )
    )
    assert (ended.node("loop").message, ended.phases()["after"]) == ("Skipped, empty params", "Succeeded")


def test_l4_a_loop_that_when_rules_out_is_skipped_though_its_list_is_unknown(run):
    ended = run(
        spec(
            {"name": "a", "template": "say", "when": "false"},
            {
                "name": "b",
                "template": "say",
                "depends": "a",
                "when": "1 == 2",
                "withParam": "{{tasks.a.outputs.result}}",
            },
            templates=[SAY],
        )
    )
    assert (ended.status.phase, ended.phases()["b"]) == ("Succeeded", "Skipped")


@pytest.mark.parametrize(("optional", "phase"), [(True, "Succeeded"), (False, "Error")])
def test_l7_an_artifact_of_a_skipped_step(run, optional, phase):
    giver = template("giver", "echo x > /tmp/file", outputs={"artifacts": [{"name": "file", "path": "/tmp/file"}]})
    taker = template(
        "taker",
        "test ! -e /tmp/given",
        inputs={"artifacts": [{"name": "given", "path": "/tmp/given", "optional": optional}]},
    )
    source = {"name": "given", "from": "{{tasks.giver.outputs.artifacts.file}}", "optional": optional}
    ended = run(
        spec(
            {"name": "giver", "template": "giver", "when": "false"},
            {"name": "taker", "template": "taker", "depends": "giver", "arguments": {"artifacts": [source]}},
            templates=[giver, taker],
        )
    )
    assert ended.phases()["taker"] == phase
    if not optional:
        assert "tasks.giver.outputs.artifacts.file" in ended.node("taker").message


@pytest.mark.parametrize(
    ("producer_default", "consumer_default", "said"),
    [("produced", None, "produced"), (None, "consumed", "consumed"), ("produced", "consumed", "produced")],
)
def test_l8_an_output_of_a_skipped_step_has_the_first_default(run, producer_default, consumer_default, said):
    assert skipped_output(run, producer_default, consumer_default).log("taker") == f"{said}\n"


def test_l8_without_any_default_the_run_ends_and_says_so(run):
    ended = skipped_output(run, None, None)
    assert ended.status.phase == "Error"
    assert "inputs.parameters.text was not supplied" in ended.node("taker").message


def skipped_output(run, producer_default, consumer_default):
    value_from = {"path": "/tmp/x"} | ({"default": producer_default} if producer_default else {})
    giver = template("giver", "echo x > /tmp/x", outputs={"parameters": [{"name": "x", "valueFrom": value_from}]})
    wanted = {"name": "text"} | ({"default": consumer_default} if consumer_default else {})
    taker = template("taker", "echo {{inputs.parameters.text}}", inputs={"parameters": [wanted]})
    given = parameter("text", "{{tasks.giver.outputs.parameters.x}}")
    return run(
        spec(
            {"name": "giver", "template": "giver", "when": "false"},
            {"name": "taker", "template": "taker", "depends": "giver", "arguments": given},
            templates=[giver, taker],
        )
    )


def test_l9_a_declared_output_that_is_not_written_fails_the_step_and_is_named(run):
    giver = template("giver", "true", outputs={"parameters": [{"name": "loss", "valueFrom": {"path": "/tmp/loss"}}]})
    ended = run(spec({"name": "giver", "template": "giver"}, templates=[giver]))
    assert ended.node("giver").is_unsuccessful
    assert "'loss'" in ended.node("giver").message
    assert "/tmp/loss" in ended.node("giver").message


def test_l10_of_a_long_result_the_last_256_kib_are_kept(run):
    big = template("big", "head -c 300000 /dev/zero | tr '\\0' a; echo tail")
    count = template("count", "true", inputs={"parameters": [{"name": "text"}]})
    given = parameter("text", "{{tasks.big.outputs.result}}")
    ended = run(
        spec(
            {"name": "big", "template": "big"},
            {"name": "count", "template": "count", "depends": "big", "arguments": given},
            templates=[big, count],
        )
    )
    result = ended.node("big").outputs.result
    assert (len(result), result[-5:]) == (256 * 1024 - 1, "atail")


@pytest.mark.timeout(300)
def test_l11_a_thousand_results_come_together_as_files(run):
    key = "{{workflow.name}}/parts"
    shard = template(
        "shard",
        "printf '%0200d' {{inputs.parameters.n}} > /tmp/part",
        inputs={"parameters": [{"name": "n"}]},
        outputs={
            "artifacts": [{"name": "part", "path": "/tmp/part", "s3": {"key": f"{key}/{{{{inputs.parameters.n}}}}"}}]
        },
    )
    total = template(
        "total",
        "cat /tmp/parts/* | fold -w 200 | sed 's/^0*//' | awk '{sum += $1} END {print sum}'",
        inputs={"artifacts": [{"name": "parts", "path": "/tmp/parts", "s3": {"key": key}}]},
    )
    numbers = {"withSequence": {"count": "1000"}, "arguments": parameter("n", "{{item}}")}
    ended = run(
        spec(
            {"name": "shard", "template": "shard", **numbers},
            {"name": "total", "template": "total", "depends": "shard"},
            templates=[shard, total],
        )
    )
    assert ended.log("total") == f"{sum(range(1000))}\n"


def test_l11_too_much_for_an_argument_is_said_so(run):
    container = {"image": "x", "command": ["echo"], "args": ["{{inputs.parameters.text}}"]}
    say = {"name": "say", "inputs": {"parameters": [{"name": "text"}]}, "container": container}
    given = parameter("text", "x" * 140_000)
    message = run(spec({"name": "a", "template": "say", "arguments": given}, templates=[say])).node("a").message
    assert message.endswith("cannot start echo: Argument list too long; pass large values as an artifact")


@pytest.mark.parametrize("code", [1, 2, 64, 65, 75, 78, 80, 137, 143, 255])
def test_l12_the_exit_code_decides_whether_a_step_is_tried_again(run, code):
    """With the very retry strategy that argosy gives its steps."""
    stage = next(t for t in yaml.safe_load(compiled(digits))["spec"]["templates"] if t["name"] == "stage")
    strategy = {**stage["retryStrategy"], "limit": 2, "backoff": {"duration": "1ms"}}
    ended = run(spec({"name": "a", "template": "a"}, templates=[template("a", f"exit {code}", retryStrategy=strategy)]))
    attempts = len(ended.node("a").children)
    assert attempts == (3 if code in RETRIED_EXIT_CODES else 1)


HANDLER = template(
    "bye",
    "echo '{{workflow.status}}'; cat <<'END'\n{{workflow.failures}}\nEND\n",
)


def test_l15_the_exit_handler_runs_once_and_knows_what_failed(run):
    ended = run(spec({"name": "a", "template": "fail"}, templates=[FAIL, HANDLER], onExit="bye"))
    status, failures = ended.log(f"{ended.folder.name}.onExit").splitlines()
    told = json.loads(json.loads(failures))
    assert status == "Failed"
    assert ("a", "main: Error (exit code 3)") in [(one["displayName"], one["message"]) for one in told]


def test_l15_after_a_success_there_are_no_failures(run):
    ended = run(spec({"name": "a", "template": "say"}, templates=[SAY, HANDLER], onExit="bye"))
    status, failures = ended.log(f"{ended.folder.name}.onExit").splitlines()
    assert (status, json.loads(json.loads(failures))) == ("Succeeded", None)


def test_l17_what_only_a_cluster_has_is_left_out_with_one_note(tmp_path):
    document = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "metadata": {"generateName": "hints-"},
        "spec": spec(
            {"name": "a", "template": "say"},
            templates=[{**SAY, "nodeSelector": {"gpu": "h200"}}],
            nodeSelector={"disk": "nvme"},
            tolerations=[{"key": "spot"}],
        ),
    }
    (tmp_path / "hints.yaml").write_text(yaml.safe_dump(document))
    ended = subprocess.run([ARGOSY, "run", "hints.yaml"], cwd=tmp_path, capture_output=True, text=True, check=True)
    notes = [line for line in ended.stdout.splitlines() if "nodeSelector" in line]
    assert len(notes) == 1
    assert "tolerations" in notes[0]
