"""Runs from the command line, real ones: what is told of them, and how they end."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from argosy.steps import values

ARGOSY = Path(sys.executable).with_name("argosy")


def test_without_a_terminal_a_run_is_told_in_plain_lines_and_ends_with_a_summary(argosy):
    done = argosy("run", "greeting.yaml")
    assert (done.returncode, done.stderr) == (0, "")
    lines = [re.sub(r"^ +\d+\.\ds  ", "+ ", re.sub(r"\d+s\b", "0s", line)) for line in done.stdout.splitlines()]
    name = done.run
    assert lines[:2] == [f"run {name}", "left out on one machine: nodeSelector"]
    assert "+ say: succeeded in 0s" in lines
    assert lines[-7:] == [
        "",
        f"✔ {name} succeeded in 0s",
        "",
        "  ✔ say   succeeded        0s",
        "  ↷ tell  skipped              when 'hello == tell' evaluated false",
        "",
        f"  next  argosy show {name}",
    ]


def test_the_same_run_asked_for_again_is_shown_and_not_run(argosy):
    first = argosy("run", "failing.yaml")
    second = argosy("run", "failing.yaml")
    assert (first.returncode, second.returncode) == (1, 1)
    assert second.stdout.startswith(f"run {first.run} exists, with the same manifest and values; --again makes another")
    assert "last words" in second.stdout
    assert len(json.loads(argosy("runs", "--json").stdout)) == 1


def test_again_makes_another_run(argosy):
    names = [argosy("run", "greeting.yaml", "--again").run for _ in range(2)]
    assert names[1] == f"{names[0]}-2"


def test_a_value_makes_a_run_of_its_own_and_reaches_the_pod(argosy):
    name = argosy("run", "greeting.yaml", "-p", "word=a=b").run
    assert argosy("logs", name, "say").stdout == "a=b\n"


def test_a_failure_is_told_with_its_log_and_ends_with_1(argosy):
    done = argosy("run", "failing.yaml")
    assert done.returncode == 1
    name = done.run
    assert "  say failed: main: Error (exit code 7)\n    last words\n    log: .argosy/runs/" in done.stdout
    log = re.search(r"log: (\S+)", done.stdout)[1]
    assert Path(log).read_text() == "last words\n"
    assert done.stdout.endswith(
        f"  next  argosy logs {name} say\n        argosy retry {name}\n        argosy show {name}\n"
    )


def test_a_gate_that_said_no_ends_with_3_and_offers_no_retry(argosy):
    done = argosy("run", "gate.yaml")
    assert done.returncode == 3
    assert "a gate said no, nothing was published" in done.stdout
    assert "argosy retry" not in done.stdout


def test_json_stands_alone_on_standard_output(argosy):
    done = argosy("run", "greeting.yaml", "--json")
    told = json.loads(done.stdout)
    assert told["phase"] == "Succeeded"
    assert told["name"] == done.run
    assert [(step["name"], step["phase"], step["exitCode"]) for step in told["steps"]] == [
        ("say", "Succeeded", "0"),
        ("tell", "Skipped", None),
    ]
    assert "say: succeeded" in done.stderr
    assert Path(told["folder"]).is_dir()


def test_a_manifest_comes_from_standard_input(argosy, project):
    assert argosy("run", "-", input=(project / "greeting.yaml").read_text()).returncode == 0


def test_a_python_pipeline_is_compiled_and_run(argosy, project):
    (project / "greet.py").write_text(
        "from hera.workflows import Container, Workflow\n"
        "with Workflow(generate_name='greet-', entrypoint='main') as workflow:\n"
        "    Container(name='main', image='x', command=['sh', '-c', 'echo compiled'])\n"
    )
    done = argosy("run", "greet")
    assert done.returncode == 0, done.stderr
    assert argosy("logs", "main").stdout == "compiled\n"


def test_a_reader_that_goes_away_leaves_no_traceback_and_the_run_goes_on(argosy, project):
    with subprocess.Popen([ARGOSY, "run", "waiting.yaml"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while b"first" not in process.stdout.readline():
            pass
        process.stdout.close()
        (project / "go").touch()
        assert b"Traceback" not in process.stderr.read()
    assert json.loads(argosy("runs", "--json").stdout)[0]["phase"] == "Succeeded"


def test_a_terminal_without_the_signs_gets_question_marks(argosy):
    done = argosy("run", "greeting.yaml", env=os.environ | {"PYTHONIOENCODING": "latin-1"})
    assert done.returncode == 0
    assert "? say   succeeded" in done.stdout


PUBLISHING = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {generateName: publish-}
spec:
  entrypoint: publish
  templates:
  - name: publish
    volumes: [{name: registry, persistentVolumeClaim: {claimName: models}}]
    container:
      image: x
      command: [sh, -c, "printf digits > /tmp/name; printf 3 > /tmp/version; printf %s $0 > /tmp/address"]
      args: ["sqlite:////registry/mlflow.db"]
      volumeMounts: [{name: registry, mountPath: /registry}]
    outputs:
      parameters:
      - {name: registered-model, valueFrom: {path: /tmp/name}}
      - {name: version, valueFrom: {path: /tmp/version}}
      - {name: tracking-uri, valueFrom: {path: /tmp/address}}
"""


def test_a_registered_model_is_told_with_the_command_that_shows_it(argosy):
    done = argosy("run", "-", input=PUBLISHING)
    assert done.returncode == 0, done.stdout
    assert "  registered  digits version 3, of unknown address\n" in done.stdout
    assert done.stdout.endswith("mlflow ui --backend-store-uri sqlite:///.argosy/claims/models/mlflow.db\n")


def test_text_that_argo_would_substitute_is_encoded_for_argosys_steps_and_for_no_others(argosy, project):
    text = "use {{name}}"
    greeting = (project / "greeting.yaml").read_text()
    labelled = greeting.replace("{generateName: greet-}", "{generateName: greet-, labels: {argosy/pipeline: greet}}")
    for manifest, expected in [
        (labelled, values.encode(text)),
        (greeting.replace("{{workflow.parameters.word}}", "x"), text),
    ]:
        argosy("run", "-", "-p", f"word={text}", input=manifest)
        parameters = json.loads(argosy("show", "--json").stdout)["spec"]["arguments"]["parameters"]
        assert parameters[0]["value"] == expected


# ---------------------------------------------------------------------------------------------- runs, show


def test_runs_are_listed_newest_first_and_so_many(argosy):
    assert argosy("runs").stdout.startswith("no runs in ")
    first, second = argosy("run", "greeting.yaml").run, argosy("run", "failing.yaml").run
    lines = argosy("runs").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["RUN", second, first]
    assert lines[1].endswith("say: main: Error (exit code 7)")
    assert argosy("runs", "-n", "1").stdout.splitlines()[-1] == "1 older; -n 2 shows all"


def test_show_explains_the_newest_run_or_the_one_that_is_named(argosy):
    first = argosy("run", "greeting.yaml").run
    argosy("run", "failing.yaml")
    assert "last words" in argosy("show").stdout
    told = argosy("show", first).stdout
    assert told.startswith(f"✔ {first} succeeded")
    assert "  parameters\n    word  hello\n" in told


@pytest.fixture
def damaged(argosy):
    """The name of the newest run, whose state cannot be read, and of the one before it."""
    whole, broken = argosy("run", "greeting.yaml").run, argosy("run", "failing.yaml").run
    Path(".argosy/runs", broken, "workflow.json").write_text('{"metadata": ')
    return broken, whole


def test_a_damaged_run_is_listed_as_such_and_hides_no_other(argosy, damaged):
    done = argosy("runs")
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split()[:3:2] for line in done.stdout.splitlines()[1:]] == [
        [damaged[0], "damaged"],
        [damaged[1], "succeeded"],
    ]
    assert [run["phase"] for run in json.loads(argosy("runs", "--json").stdout)] == ["Damaged", "Succeeded"]


@pytest.mark.parametrize("command", ["show", "retry", "logs", "stop"])
@pytest.mark.parametrize("is_named", [True, False])
def test_a_damaged_run_ends_a_command_with_one_line(argosy, damaged, command, is_named):
    done = argosy(command, *damaged[: int(is_named)])
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert re.match(rf"argosy: .*/{damaged[0]}/workflow\.json.*damaged", line)


def test_completion_offers_no_steps_of_a_damaged_run(completed, damaged):
    assert completed("logs", damaged[0], "") == [""]


def test_show_as_json_is_the_whole_workflow_object(argosy):
    name = argosy("run", "greeting.yaml").run
    told = json.loads(argosy("show", name, "--json").stdout)
    assert told["kind"] == "Workflow"
    assert {node["phase"] for node in told["status"]["nodes"].values()} == {"Succeeded", "Skipped"}
