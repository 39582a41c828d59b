"""Publishing to a real MLflow on sqlite: once for each run, whatever happens in between."""

import json
import multiprocessing
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest
import torch

from argosy.steps import pod
from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.gates import Answer
from argosy.steps.publish import step
from argosy.steps.publish.client import connected

FORK = multiprocessing.get_context("fork")  # so that a process to be killed need not import mlflow anew
LONG = "x" * 7000
PARAMETERS = [{"name": "learning-rate", "value": "0.01"}, {"name": "note", "value": 'json:"a{\\u007bb"'}]


def versions(client):
    return sorted(client.search_model_versions("name = 'digits'"), key=lambda one: one.version)


# ---------------------------------------------------------------------------------------------- what is published

LOAD_WITHOUT_ARGOSY = """
import sys
sys.modules["argosy"] = None
import mlflow, numpy as np
mlflow.set_tracking_uri(sys.argv[1])
model = mlflow.pyfunc.load_model("models:/digits@champion")
print(model.predict(np.load(sys.argv[2])).tolist())
"""


def test_plain_mlflow_loads_and_serves_the_version_where_argosy_is_not_installed(inputs, models, tmp_path):
    import numpy as np

    step.run(inputs())
    batch = np.random.default_rng(0).random((3, 1, 8, 8), dtype=np.float32)
    np.save(tmp_path / "batch.npy", batch)
    words = [sys.executable, "-c", LOAD_WITHOUT_ARGOSY, inputs().tracking_uri, str(tmp_path / "batch.npy")]
    out = subprocess.run(words, capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    program = torch.export.load(models / "run/model/model.pt2").module()
    torch.testing.assert_close(torch.tensor(json.loads(out.splitlines()[-1])), program(torch.from_numpy(batch)))


def test_the_signature_says_what_goes_in_and_what_comes_out(inputs, tmp_path):
    from mlflow.models import Model

    step.run(inputs())
    (package,) = (tmp_path / "registry/artifacts").rglob("MLmodel")
    signature = Model.load(str(package)).signature
    assert [(one.type.name, one.shape) for one in signature.inputs] == [("float32", (-1, 1, 8, 8))]
    assert [(one.type.name, one.shape) for one in signature.outputs] == [("float32", (-1, 10))]


def test_the_package_holds_no_pickle(inputs, tmp_path):
    step.run(inputs())
    names = {path.name for path in (tmp_path / "registry/artifacts").rglob("*") if path.is_file()}
    assert {"MLmodel", "model.pt2", "model.json", "argosy_serving.py", "requirements.txt"} <= names
    assert not [name for name in names if name.endswith((".pkl", ".pickle", ".pth"))]


def test_the_version_and_its_run_carry_the_recipe(inputs, mlflow_client):
    made = inputs()
    output = step.run(made)
    assert (output.version, output.created, output.model_uri) == (1, True, "models:/digits/1")
    version = mlflow_client.get_model_version_by_alias("digits", "champion")
    assert version.tags == {
        "argosy.run": "digits-uid-1",
        "argosy.run_uid": "uid-1",
        "argosy.revision": "c0ffee",
        "argosy.dataset": "data/digits",
        "argosy.dataset_hash": "0" * 32 + ".dir",
        "argosy.task": "argosy.steps.digits:Digits",
        "argosy.image": "registry.example.org/argosy@sha256:1",
        "argosy.model_sha256": made.model_hash,
        "argosy.gate.accuracy-gate": "accuracy 0.97 pass",
        "argosy.alias": "champion",
        "argosy.lease": version.tags["argosy.lease"],
        "argosy.decision": "champion",
        "argosy.decision_reason": "there was none before",
    }
    run = mlflow_client.get_run(version.run_id)
    assert run.data.params == {"learning-rate": "0.01", "note": "a{{b"}
    assert run.data.metrics["accuracy-gate.bound"] == 0.95
    assert (run.data.metrics["train.loss"], run.data.metrics["train.steps"]) == (0.125, 400)
    assert (run.info.run_name, run.info.status) == ("digits-uid-1", "FINISHED")
    decided = {"argosy.lease", "argosy.decision", "argosy.decision_reason"}
    assert {name: text for name, text in version.tags.items() if name not in decided}.items() <= run.data.tags.items()


def test_the_model_is_a_logged_model_that_is_ready_and_knows_its_run(inputs, mlflow_client, tmp_path):
    from mlflow.models import Model

    step.run(inputs())
    (version,) = versions(mlflow_client)
    (logged,) = mlflow_client.search_logged_models([mlflow_client.get_experiment_by_name("digits").experiment_id])
    assert (logged.status, logged.source_run_id) == ("READY", version.run_id)
    assert logged.artifact_location == version.source
    (package,) = (tmp_path / "registry/artifacts").rglob("MLmodel")
    assert Model.load(str(package)).model_id == logged.model_id
    requirements = (package.parent / "requirements.txt").read_text().splitlines()
    assert {"numpy", "torch"} <= {line.partition("==")[0] for line in requirements}
    assert all("==" in line for line in requirements)


def test_p5_a_parameter_too_long_for_mlflow_is_kept_whole_as_a_file_and_noted(inputs, mlflow_client, tmp_path):
    step.run(inputs(parameters=json.dumps([*PARAMETERS, {"name": "prompt", "value": LONG}])))
    run = mlflow_client.get_run(versions(mlflow_client)[0].run_id)
    assert run.data.params["prompt"] == "7000 characters, in parameters/prompt.txt"
    kept = mlflow_client.download_artifacts(run.info.run_id, "parameters/prompt.txt", str(tmp_path))
    assert Path(kept).read_text() == LONG


def test_more_parameters_than_mlflow_takes_at_once_all_arrive(inputs, mlflow_client):
    step.run(inputs(parameters=json.dumps([{"name": f"p{i}", "value": str(i)} for i in range(230)])))
    run = mlflow_client.get_run(versions(mlflow_client)[0].run_id)
    assert run.data.params == {f"p{i}": str(i) for i in range(230)}


# ---------------------------------------------------------------------------------------------- once


def killed_after(calls, inputs):
    """Publishes in this process, which dies by SIGKILL right after so many of the client's calls."""
    from mlflow import MlflowClient

    left = count(calls, -1)

    def deadly(method):
        def call(*args, **kwargs):
            result = method(*args, **kwargs)
            if next(left) == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return call

    for name, method in list(vars(MlflowClient).items()):
        if callable(method) and not name.startswith("_"):
            setattr(MlflowClient, name, deadly(method))
    step.run(inputs)


def in_a_process(function, *args):
    process = FORK.Process(target=function, args=args)
    process.start()
    process.join()
    return process.exitcode


def test_killed_after_any_call_and_run_again_there_is_one_finished_version_with_the_alias(
    inputs, empty_database, tmp_path
):
    long = json.dumps([*PARAMETERS, {"name": "prompt", "value": LONG}])
    made = inputs(parameters=long)
    for calls in count(1):
        shutil.rmtree(tmp_path / "registry")
        (tmp_path / "registry").mkdir()
        shutil.copy(empty_database, tmp_path / "registry/mlflow.db")
        exit_code = in_a_process(killed_after, calls, made)
        if exit_code == 0:
            break
        assert exit_code == -signal.SIGKILL
        assert in_a_process(publish_and_check, made) == 0, f"after a kill after call {calls}"
    assert calls > 12


def publish_and_check(inputs):
    step.run(inputs)
    with connected(inputs.tracking_uri) as client:
        (version,) = versions(client)
        assert client.get_model_version_by_alias("digits", "champion").version == version.version
        (run,) = client.search_runs([one.experiment_id for one in client.search_experiments()])
        assert (run.info.run_id, run.info.status) == (version.run_id, "FINISHED")
        assert len(client.get_metric_history(run.info.run_id, "accuracy-gate.bound")) == 1
        assert run.data.params["learning-rate"] == "0.01"


def killed_at_statement(number, inputs):
    """Publishes in this process, which dies by SIGKILL before this SQL statement."""
    from sqlalchemy.engine.default import DefaultDialect

    execute, left = DefaultDialect.do_execute, count(number, -1)

    def deadly(*args, **kwargs):
        if next(left) == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return execute(*args, **kwargs)

    DefaultDialect.do_execute = deadly
    step.run(inputs)


def test_killed_while_mlflow_makes_its_tables_the_next_attempt_publishes_and_sweeps(fresh, tmp_path):
    assert in_a_process(killed_at_statement, 100, fresh()) == -signal.SIGKILL
    assert not (tmp_path / "registry/mlflow.db").exists()
    assert in_a_process(publish_and_check, fresh()) == 0
    assert {path.name for path in (tmp_path / "registry").iterdir()} == {"mlflow.db", "artifacts"}


def test_p5_the_same_run_again_publishes_nothing_and_says_so(inputs, mlflow_client):
    first, again = step.run(inputs()), step.run(inputs())
    assert (first.created, again.created) == (True, False)
    assert (again.version, again.model_uri) == (1, "models:/digits/1")
    assert len(versions(mlflow_client)) == 1


def test_each_run_gets_its_version_and_an_old_run_tried_again_does_not_take_the_alias_back(inputs, mlflow_client):
    assert step.run(inputs("uid-1")).version == 1
    assert step.run(inputs("uid-2")).version == 2
    assert step.run(inputs("uid-1")).version == 1
    assert mlflow_client.get_model_version_by_alias("digits", "champion").version == 2


def test_p1_two_publishers_at_once_of_a_new_registry_get_a_version_each(fresh):
    both = [FORK.Process(target=step.run, args=(fresh(uid),)) for uid in ("uid-1", "uid-2")]
    for process in both:
        process.start()
    for process in both:
        process.join()
    assert [process.exitcode for process in both] == [0, 0]
    with connected(fresh().tracking_uri) as client:
        found = versions(client)
        assert [one.version for one in found] == [1, 2]
        assert {one.tags["argosy.run_uid"] for one in found} == {"uid-1", "uid-2"}
        assert len({one.run_id for one in found}) == 2
        assert client.get_model_version_by_alias("digits", "champion").version == 2


# ---------------------------------------------------------------------------------------------- what is not published


@pytest.mark.parametrize("answer", [Answer.FAIL, Answer.INCONCLUSIVE])
def test_a_verdict_that_is_no_pass_publishes_nothing(fresh, verdict, tmp_path, answer):
    verdicts = {"accuracy-gate": verdict("accuracy-gate"), "latency-gate": verdict("latency-gate", answer)}
    with pytest.raises(StepError, match=f"latency-gate: accuracy 0.97 {answer}") as caught:
        step.run(fresh(verdicts=verdicts))
    assert caught.value.exit_code == ExitCode.USAGE
    assert not (tmp_path / "registry").exists()


def test_a_model_that_changed_after_training_is_not_published(fresh, tmp_path):
    with pytest.raises(StepError, match="it changed after training") as caught:
        step.run(fresh(model_hash="f" * 64))
    assert caught.value.exit_code == ExitCode.DATA
    assert not (tmp_path / "registry").exists()


def test_p3_an_upload_that_breaks_off_makes_no_version_and_leaves_the_alias_and_the_next_attempt_makes_one(
    inputs, mlflow_client, monkeypatch
):
    step.run(inputs("uid-1"))
    copyfile, copies = shutil.copyfile, count(1)

    def breaks_off(source, target, **options):
        if "artifacts" in str(target) and next(copies) == 3:
            raise OSError(5, "Input/output error")
        return copyfile(source, target, **options)

    monkeypatch.setattr(shutil, "copyfile", breaks_off)
    made = inputs("uid-2")
    assert pod.end(lambda: (made, step.run(made))) != 0
    assert next(copies) > 3
    assert [one.version for one in versions(mlflow_client)] == [1]
    assert mlflow_client.get_model_version_by_alias("digits", "champion").version == 1
    monkeypatch.undo()
    assert step.run(made).version == 2


def test_p3_a_file_that_arrived_cut_makes_no_version(inputs, mlflow_client, monkeypatch, tmp_path):
    from mlflow import MlflowClient

    upload = MlflowClient.log_model_artifacts

    def cuts(self, *args):
        upload(self, *args)
        (arrived,) = (tmp_path / "registry/artifacts").rglob("model.pt2")
        os.truncate(arrived, 100)

    monkeypatch.setattr(MlflowClient, "log_model_artifacts", cuts)
    with pytest.raises(StepError, match=r"did not take data/model/model\.pt2 whole") as caught:
        step.run(inputs())
    assert caught.value.exit_code == ExitCode.TEMPORARY
    assert not mlflow_client.search_registered_models()


# ---------------------------------------------------------------------------------------------- errors and noise


def test_a_server_that_cannot_be_reached_is_a_temporary_failure(fresh):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}"
        with pytest.raises(StepError, match=f"{address}: MLflow does not answer") as caught:
            step.run(fresh(tracking_uri=address))
    assert caught.value.exit_code == ExitCode.TEMPORARY
    assert "\n" not in caught.value.message


def test_what_mlflow_refuses_is_said_in_one_line(inputs, mlflow_client):
    mlflow_client.delete_experiment(mlflow_client.create_experiment("digits"))
    with pytest.raises(StepError, match=r"MLflow refuses: .*deleted") as caught:
        step.run(inputs())
    assert caught.value.exit_code == ExitCode.CONFIGURATION
    assert "\n" not in caught.value.message


PUBLISH_WITHIN = """
import sys
from sqlalchemy import Engine, event
from argosy.steps import pod, registry
from argosy.steps.publish import step
event.listen(Engine, "connect", lambda connection, _: connection.execute("PRAGMA max_page_count = 20"))
inputs = registry.PublishInput.model_validate_json(sys.stdin.read())
sys.exit(pod.end(lambda: (inputs, step.run(inputs))))
"""


@pytest.mark.parametrize("state", ["while the tables are made", "of a registry that is there"])
def test_a_full_disk_is_said_in_one_line_with_the_place_and_no_traceback(state, fresh, request):
    made = (fresh if "tables" in state else request.getfixturevalue("inputs"))(
        parameters=json.dumps([{"name": f"p{i}", "value": "x" * 5000} for i in range(90)])
    )
    words = [sys.executable, "-c", PUBLISH_WITHIN]
    done = subprocess.run(words, input=made.model_dump_json(), capture_output=True, text=True, check=False)
    assert done.returncode == ExitCode.CONFIGURATION
    remedy = "make room, or give the right to write there"
    assert done.stderr == f"{made.tracking_uri}: database or disk is full; {remedy}\n"


def test_a_file_that_is_no_database_is_said_in_one_line(fresh, tmp_path):
    (tmp_path / "registry").mkdir()
    (tmp_path / "registry/mlflow.db").write_bytes(b"x" * 5000)
    with pytest.raises(StepError, match=r"MLflow refuses: file is not a database$") as caught:
        step.run(fresh())
    assert caught.value.exit_code == ExitCode.CONFIGURATION


def test_a_database_that_is_locked_is_a_temporary_failure(inputs, tmp_path):
    with closing(sqlite3.connect(tmp_path / "registry/mlflow.db")) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StepError, match="MLflow does not answer as it should: database is locked") as caught:
            step.run(inputs(tracking_uri=f"{inputs().tracking_uri}?timeout=0.1"))
    assert caught.value.exit_code == ExitCode.TEMPORARY


# ---------------------------------------------------------------------------------------------- which server


def test_without_an_address_the_environments_is_taken_and_then_a_database_in_the_folder(inputs, monkeypatch, tmp_path):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    first = step.run(inputs(tracking_uri=""))
    assert first.tracking_uri == f"sqlite:///{tmp_path}/registry/mlflow.db"
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}"
        monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
        with pytest.raises(StepError, match=f"{address}: MLflow does not answer"):
            step.run(inputs("uid-2", tracking_uri=""))
    assert step.run(inputs("uid-3")).version == 2


def test_without_an_address_and_a_folder_it_is_said_what_is_missing(inputs, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    with pytest.raises(StepError, match="MLFLOW_TRACKING_URI: is not set, and neither") as caught:
        step.run(inputs(tracking_uri="", folder=None))
    assert caught.value.exit_code == ExitCode.CONFIGURATION


def test_a_password_in_the_address_is_in_no_message(fresh, monkeypatch):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        where = f"127.0.0.1:{closed.getsockname()[1]}"
        monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://me:hunter2@{where}")
        with pytest.raises(StepError, match=f"^http://{where}: MLflow does not answer") as caught:
            step.run(fresh(tracking_uri=""))
    assert "hunter2" not in caught.value.message


@pytest.mark.parametrize(
    "address",
    [
        "http://me:hun/ter2@127.0.0.1:1",
        "http://me:hun@ter2@127.0.0.1:1",
        "http://me:hun ter2@127.0.0.1:1",
        "http://me:hunter2@[::1",
        "http://127.0.0.1:1/?token=hunter2",
        "postgresql://me:hunter2@127.0.0.1/mlflow",
        "uc:hunter2",
        "mlflow.example.org:5000",
        "http://",
    ],
)
def test_what_is_no_address_of_a_server_is_refused_and_not_shown(address, fresh, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    with pytest.raises(StepError, match=r"^MLFLOW_TRACKING_URI: is neither http\(s\)://HOST nor ") as caught:
        step.run(fresh(tracking_uri=""))
    assert caught.value.exit_code == ExitCode.CONFIGURATION
    assert "ter2" not in caught.value.message


def test_a_line_end_after_the_address_is_no_part_of_it(inputs, monkeypatch, tmp_path):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/registry/mlflow.db\n")
    assert step.run(inputs(tracking_uri="")).tracking_uri == f"sqlite:///{tmp_path}/registry/mlflow.db"


def test_the_summary_says_where_the_alias_is(inputs):
    assert step.run(inputs("uid-1")).summary == "digits version 1, now champion"
    assert step.run(inputs("uid-2")).summary == "digits version 2, now champion"
    assert step.run(inputs("uid-1")).summary == "digits version 1, while champion stays at version 2"


def test_a_database_without_a_place_for_files_is_refused(inputs):
    with pytest.raises(StepError, match="--folder must say where files are kept") as caught:
        step.run(inputs(folder=None))
    assert caught.value.exit_code == ExitCode.CONFIGURATION


@pytest.mark.parametrize("text", ["{", "{}", "[1]", '[{"value": "x"}]', "null"])
def test_parameters_that_are_not_argos_list_are_refused(inputs, text):
    with pytest.raises(StepError, match="is not the list that Argo writes") as caught:
        step.run(inputs(parameters=text))
    assert caught.value.exit_code == ExitCode.USAGE


PUBLISH = """
import sys
from argosy.steps import registry
from argosy.steps.publish import step
output = step.run(registry.PublishInput.model_validate_json(sys.stdin.read()))
print(output.version, {"torch", "dvc", "hera"} & set(sys.modules))
"""


def test_a_first_publish_is_silent_and_imports_no_torch(fresh):
    words = [sys.executable, "-c", PUBLISH]
    done = subprocess.run(words, input=fresh().model_dump_json(), capture_output=True, text=True, check=True)
    assert done.stdout == "1 set()\n"
    assert done.stderr == ""
