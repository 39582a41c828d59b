"""What a submission does with a run's data: it pins it, refuses what no pod could stage, and is not held up."""

import hashlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from argosy.pipelines import manifest
from argosy.pipelines.commands import pinning
from argosy.pipelines.commands.mistake import Mistake
from argosy.pipelines.identity import set_values
from argosy.steps import values
from argosy.steps.pins import Pin

ARGOSY = Path(sys.executable).with_name("argosy")

MANIFEST = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {generateName: digits-, labels: {argosy/pipeline: digits}}
spec:
  entrypoint: main
  arguments:
    parameters:
    - {name: dataset, value: data/digits}
    - {name: dataset-pin, value: ""}
    - {name: revision, value: ""}
  templates:
  - name: main
    container: {image: x, command: [echo], args: ["--dataset-pin={{workflow.parameters.dataset-pin}}"]}
"""
CONFIG = """[core]
    remote = store
['remote "store"']
    url = ../store
"""
LIST = '[{"path": "data/digits", "only": ["a*"]}, {"path": "data/labels.csv"}]'


def git(*words):
    done = subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], capture_output=True, check=True)
    return done.stdout.decode().strip()


def stored(content, suffix=""):
    """An object in the remote; its md5."""
    md5 = hashlib.md5(content).hexdigest() + suffix
    target = Path("store/files/md5", md5[:2], md5[2:])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    return md5


def track(path, md5):
    Path(f"{path}.dvc").write_text(f"outs:\n- {{md5: {md5}, hash: md5, path: '{Path(path).name}'}}\n")


@pytest.fixture
def project(project, monkeypatch):
    """A committed project with a pipeline's manifest and two datasets, whose remote is a folder in it."""
    for folder in ("data", ".dvc"):
        Path(folder).mkdir()
    Path(".dvc/config").write_text(CONFIG)
    Path("digits.yaml").write_text(MANIFEST)
    Path(".gitignore").write_text(".argosy/\n/store\n")
    track("data/digits", stored(json.dumps([{"md5": stored(b"1"), "relpath": "a"}]).encode(), ".dir"))
    track("data/labels.csv", stored(b"labels"))
    monkeypatch.setenv("DVC_GLOBAL_CONFIG_DIR", str(project / "none"))
    git("init", "-q")
    git("add", "-A")
    git("commit", "-q", "-m", "x")
    return project


@pytest.fixture
def text(project):
    """The parameter as a submission fills it in: for the manifest with these values; nothing where it stays."""

    def pinned(document=MANIFEST, **given):
        read = manifest.read(document)
        set_values(read, {name.replace("_", "-"): value for name, value in given.items()})
        return pinning.pinned(read, project).get("dataset-pin")

    return pinned


@pytest.fixture
def pin(text):
    def read(**given):
        return Pin.model_validate_json(values.decode(text(**given), str))

    return read


def refusal(call, **given):
    with pytest.raises(Mistake) as caught:
        call(**given)
    assert "Traceback" not in caught.value.message
    return caught.value.message


# ---------------------------------------------------------------------------------------------- whole runs


def test_a_run_is_of_the_data_at_its_commit_and_its_pods_are_told_of_it(argosy, project):
    done = argosy("run", "digits.yaml")
    assert (done.returncode, done.stderr) == (0, "")
    (line,) = re.findall("--dataset-pin=(.*)", argosy("logs", done.run).stdout)
    pin = Pin.model_validate_json(line)
    assert (pin.dataset, pin.revision) == ("data/digits", git("rev-parse", "HEAD"))
    assert f"md5: {pin.hash}," in (project / "data/digits.dvc").read_text()
    assert pin.sources[0].remote.url == "store"


def test_the_same_commit_and_data_are_one_run(argosy):
    first, second = argosy("run", "digits.yaml"), argosy("run", "digits.yaml")
    assert first.run == second.run
    assert " exists, " in second.stdout


def test_what_no_pod_could_stage_makes_no_run_and_is_told_line_by_line(argosy, project):
    done = argosy("run", "digits.yaml", "-p", 'dataset=[{"path": "data/digit"}, {"path": "data/label"}]')
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch("argosy: data/digit: no .*\nargosy: data/label: no .*\n", done.stderr)
    assert not (project / ".argosy").exists()


# ---------------------------------------------------------------------------------------------- what is pinned


def test_of_files_that_differ_from_the_commit_those_on_disk_count(pin, project):
    before = pin(revision="c0ffee-dirty")
    track("data/digits", stored(b"[]", ".dir"))
    assert before.hash != pin(revision="c0ffee-dirty").hash
    assert pin(revision=git("rev-parse", "HEAD")).hash == before.hash
    assert project.exists()


@pytest.mark.parametrize("dataset", ["data/labels.csv", LIST])
def test_datasets_that_are_given_are_those_of_the_pin_in_both_forms(dataset, pin):
    found = pin(dataset=dataset)
    assert found.dataset == dataset
    assert [one.path for one in found.sources] == re.findall(r"data/[\w.]+", dataset)


def test_a_value_that_is_kept_from_argos_substitution_names_the_same_dataset(pin):
    track("data/{{x", stored(b"x"))
    assert pin(dataset=values.encode("data/{{x")).sources[0].path == "data/{{x"


@pytest.mark.parametrize(
    ("dataset", "words"),
    [
        ("data/digit", "known are data/digits, data/labels.csv"),
        ('[{"path": "data/digits"}, {"path": "other/digits"}]', "several datasets are named 'digits'"),
        ('[{"path"', "invalid JSON"),
        ('[{"paths": "data/digits"}]', "--dataset"),
        ("../outside", "must be a path inside the project"),
    ],
)
def test_a_dataset_that_cannot_be_is_refused_in_the_steps_words(dataset, words, text):
    assert words in refusal(text, dataset=dataset)


def test_a_merge_conflict_is_refused_with_its_line(text, project):
    file = project / "data/digits.dvc"
    file.write_text(f"outs:\n<<<<<<< HEAD\n{file.read_text()}")
    assert refusal(text).startswith("data/digits.dvc:2: holds a merge conflict")


def test_data_that_was_never_pushed_is_refused(text, project):
    for listing in (project / "store").rglob("*.dir"):
        listing.unlink()
    assert "dvc push" in refusal(text)


@pytest.mark.parametrize("url", ["ssh://host/path", "s3://key:s3cr3t@bucket"])
def test_a_remote_that_no_pod_could_read_is_refused(url, text, project):
    (project / ".dvc/config").write_text(CONFIG.replace("../store", url))
    message = refusal(text)
    assert message.startswith("DVC remote store: ")
    assert "s3cr3t" not in message


def test_the_machines_credentials_are_in_no_manifest(text, project):
    (project / ".dvc/config.local").write_text("['remote \"store\"']\n    secret_access_key = s3cr3t\n")
    assert "s3cr3t" not in text()


def test_modules_in_the_working_directory_do_not_come_before_the_libraries(pin, project):
    (project / "yaml.py").write_text("raise SystemExit('the wrong one')")
    assert pin().dataset == "data/digits"


# ---------------------------------------------------------------------------------------------- given by the user


def test_a_pin_that_is_given_stays_as_it_is(text):
    assert text(dataset_pin=text().replace('"url":"store"', '"url":"elsewhere"')) is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda pin: pin.replace('"data/digits"', '"data/labels.csv"', 1), "is of dataset 'data/labels.csv' and not"),
        (lambda pin: re.sub('"revision":""', '"revision":"c0ffee"', pin), "is of revision 'c0ffee' and not"),
        (lambda _: "{}", "is no pin"),
        (lambda _: "c0ffee", "is no pin"),
    ],
)
def test_a_pin_of_other_data_is_refused(change, words, text):
    message = refusal(text, dataset_pin=change(text()))
    assert message.startswith("parameter 'dataset-pin': ")
    assert words in message


# ---------------------------------------------------------------------------------------------- left alone


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (", labels: {argosy/pipeline: digits}", ""),
        ('    - {name: dataset-pin, value: ""}\n', ""),
        ("    - {name: dataset, value: data/digits}\n", ""),
    ],
)
def test_a_manifest_that_is_not_a_pipelines_is_left_as_it_is(old, new, text, project):
    (project / "data/digits.dvc").write_text("<<<<<<<")
    assert text(MANIFEST.replace(old, new)) is None


def without(module, folder, monkeypatch):
    """Neither this process nor those that it starts find a module."""
    (folder / "sitecustomize.py").write_text(f"import sys\nsys.modules[{module!r}] = None\n")
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.setitem(sys.modules, module, None)


def test_where_the_steps_are_not_installed_the_first_pod_finds_the_data(text, tmp_path_factory, monkeypatch, capsys):
    without("configobj", tmp_path_factory.mktemp("blocked"), monkeypatch)
    assert text() is None
    told = "the data was not looked at: argosy[steps] is not installed here; the first pod finds it\n"
    assert capsys.readouterr().err == told


def test_a_step_that_breaks_holds_up_no_run(text, tmp_path_factory, monkeypatch, capsys):
    without("yaml", tmp_path_factory.mktemp("blocked"), monkeypatch)
    assert text() is None
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("the data was not looked at: ModuleNotFoundError: ")


def test_without_a_client_for_stores_the_pin_holds_what_git_knows(pin, project, tmp_path_factory, monkeypatch, capsys):
    (project / ".dvc/config").write_text(CONFIG.replace("../store", "s3://bucket"))
    without("obstore", tmp_path_factory.mktemp("blocked"), monkeypatch)
    assert pin().sources[0].remote.url == "s3://bucket"
    told = "whether the remote has the data was not looked at: obstore is not installed here; `pip install "
    assert capsys.readouterr().err.startswith(told)


def test_without_git_the_files_as_they_are_count(pin, monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    assert pin().revision == ""


# ---------------------------------------------------------------------------------------------- stores that are silent


@pytest.fixture
def at(project, monkeypatch):
    """Puts the remote at an address of this machine."""
    for name, value in {"ACCESS_KEY_ID": "a", "SECRET_ACCESS_KEY": "b", "REGION": "us-east-1"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)

    def put(listening):
        endpoint = f"    endpointurl = http://127.0.0.1:{listening.getsockname()[1]}\n"
        (project / ".dvc/config").write_text(CONFIG.replace("../store", "s3://bucket") + endpoint)

    return put


@pytest.fixture
def silent(at):
    """A store that takes a connection and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        at(server)
        yield server


def test_a_remote_that_cannot_be_reached_holds_up_no_run(pin, at, capsys):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        at(unused)
        assert pin().sources[0].remote.url == "s3://bucket"
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("whether the remote has the data was not looked at: ")


def test_an_interrupt_ends_the_look_at_a_store_that_never_answers(silent):
    with subprocess.Popen([ARGOSY, "run", "digits.yaml"], stderr=subprocess.PIPE, text=True) as process:
        connection, _ = silent.accept()
        process.send_signal(signal.SIGINT)  # to argosy alone: a terminal would tell the other one as well
        assert process.communicate(timeout=20)[1].strip() == "argosy: interrupted"  # click ends the line of a ^C
        assert process.returncode == 130
        connection.settimeout(20)
        while connection.recv(4096):  # the end of it: the process that asked is gone
            pass
    assert not Path(".argosy").exists()


@pytest.mark.usefixtures("silent")
def test_a_person_at_a_terminal_is_told_what_takes_so_long():
    leader, follower = os.openpty()
    with subprocess.Popen([ARGOSY, "run", "digits.yaml"], stdin=follower, stdout=follower, stderr=follower) as process:
        os.close(follower)
        assert b"looking whether the remote has the data" in os.read(leader, 4096)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 130
    os.close(leader)
