"""How a step ends: exit code, outputs, record, last word."""

import errno
import json
import signal
import subprocess
import sys

import pytest

from argosy.steps import pod
from argosy.steps.base import StepInput
from argosy.steps.contracts import TERMINATION_LOG, ExitCode, StageOutput
from argosy.steps.errors import StepError
from argosy.steps.gates import Answer, GateOutput, Verdict
from argosy.steps.pins import Pin, PinnedSource, Remote

PIN = Pin(dataset="d", revision="", sources=[PinnedSource(path="d", hash="0" * 32, remote=Remote(name="r", url="u"))])
STAGED = StageOutput(
    summary="3 files",
    seconds=0.5,
    dataset_hash=PIN.hash,
    dataset_pin=PIN,
    files=3,
    bytes=7,
    fetched_bytes=0,
    hits=3,
    node="n",
)


@pytest.fixture
def last_word(tmp_path, monkeypatch):
    path = tmp_path / "termination"
    path.touch()
    monkeypatch.setenv(TERMINATION_LOG, str(path))
    return path


@pytest.fixture(autouse=True)
def restored_handler():
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def raising(error):
    def step():
        raise error

    return step


def test_outputs_are_files_named_in_kebab_case_and_the_record_holds_them_all(tmp_path):
    pod.clear(tmp_path / "o")
    assert pod.end(lambda: (StepInput(output=tmp_path / "o"), STAGED)) == ExitCode.OK
    assert (tmp_path / "o/dataset-hash").read_text() == PIN.hash
    assert (tmp_path / "o/fetched-bytes").read_text() == "0"
    assert json.loads((tmp_path / "o/record.json").read_text()) == STAGED.model_dump(mode="json")


def test_no_record_appears_before_every_output_is_written(tmp_path):
    (tmp_path / "fetched-bytes").mkdir()  # the last field cannot be written
    assert pod.end(lambda: (StepInput(output=tmp_path), STAGED)) != ExitCode.OK
    assert not (tmp_path / "record.json").exists()
    assert not list(tmp_path.glob(".partial-*"))


def test_the_record_of_an_earlier_attempt_is_gone_when_a_step_begins(tmp_path):
    (tmp_path / "record.json").write_text("{}")
    pod.clear(tmp_path)
    assert not (tmp_path / "record.json").exists()


def test_a_step_error_is_one_line_and_its_exit_code(last_word, capsys):
    assert pod.end(raising(StepError(ExitCode.DATA, "x.tar: is empty"))) == ExitCode.DATA
    assert last_word.read_text() == "x.tar: is empty"
    assert capsys.readouterr().err == "x.tar: is empty\n"


def test_the_termination_file_is_written_in_place(last_word):
    before = last_word.stat().st_ino
    pod.end(raising(StepError(ExitCode.DATA, "x")))
    assert last_word.stat().st_ino == before


def test_the_last_word_keeps_within_4096_bytes_of_whole_characters(last_word):
    pod.end(raising(StepError(ExitCode.DATA, "é" * 3000)))
    assert len(last_word.read_bytes()) <= 4096
    assert set(last_word.read_text()) == {"é"}


def test_an_uncaught_exception_is_named_with_the_line_of_the_users_code(last_word, capsys):
    def step():
        return json.loads("{")

    assert pod.end(step) == ExitCode.CODE
    line = step.__code__.co_firstlineno + 1
    assert last_word.read_text().startswith("JSONDecodeError: ")
    assert last_word.read_text().endswith(f"({__file__}:{line})")
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_lack_of_space_or_rights_is_a_matter_of_configuration(number, last_word, capsys):
    assert pod.end(raising(OSError(number, "No space left", "/cache/x"))) == ExitCode.CONFIGURATION
    assert last_word.read_text().startswith("/cache/x: ")
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("code", [0, 80])
def test_users_code_that_exits_has_failed_whatever_its_code(code, last_word):
    assert pod.end(raising(SystemExit(code))) == ExitCode.CODE
    assert last_word.read_text().startswith(f"SystemExit: {code} (")


@pytest.mark.parametrize("number", [errno.EIO, errno.ESTALE])
def test_a_disk_that_fails_is_a_matter_of_the_machine(number, last_word, capsys):
    assert pod.end(raising(OSError(number, "Gone", "/models/x"))) == ExitCode.TEMPORARY
    assert last_word.read_text() == "/models/x: Gone; a disk or a network file system failed"
    assert "Traceback" not in capsys.readouterr().err


def test_a_lack_of_space_names_the_copy_and_not_what_was_copied(last_word):
    assert pod.end(raising(OSError(errno.ENOSPC, "No space left", "/from", None, "/to"))) == ExitCode.CONFIGURATION
    assert last_word.read_text().startswith("/to: No space left")


@pytest.mark.parametrize(
    ("answer", "exit_code"),
    [(Answer.PASS, 0), (Answer.FAIL, ExitCode.GATE_FAILED), (Answer.INCONCLUSIVE, ExitCode.GATE_INCONCLUSIVE)],
)
def test_a_gate_writes_its_record_whatever_it_answers(answer, exit_code, tmp_path, last_word):
    verdict = Verdict(
        gate="g", answer=answer, metric="accuracy", estimate=0.8, bound=0.7, threshold=0.9, margin=-0.2,
        confidence=0.95, samples=10, reason="accuracy 0.8 is too low",
    )  # fmt: skip
    output = GateOutput(seconds=1, answer=answer, summary="s", verdict=verdict)
    assert pod.end(lambda: (StepInput(output=tmp_path), output)) == exit_code
    assert json.loads((tmp_path / "record.json").read_text())["answer"] == answer
    assert last_word.read_text() == ("" if answer is Answer.PASS else verdict.reason)


SLEEPER = """
import signal, sys
from argosy.steps import pod
def step():
    try:
        print("ready", flush=True)
        signal.pause()
    finally:
        print("cleaned", flush=True)
sys.exit(pod.end(step))
"""


def test_sigterm_lets_a_step_clean_up_and_ends_with_143(last_word):
    with subprocess.Popen([sys.executable, "-c", SLEEPER], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        process.terminate()
        assert process.communicate(timeout=10)[0] == "cleaned\n"
    assert process.returncode == 143
    assert last_word.read_text() == "stopped by SIGTERM"


MODULES_OF = """
import sys
from argosy.steps.__main__ import main
code = main(sys.argv[1:])
print(code, *(name for name in ("torch", "dvc", "mlflow", "yaml", "obstore") if name in sys.modules))
"""


def modules_of(*words):
    done = subprocess.run([sys.executable, "-c", MODULES_OF, *words], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1]


def test_staging_imports_no_torch_and_no_dvc(first_project, tmp_path):
    words = ["stage", "--dataset=data/digits", f"--project={first_project}", f"--output={tmp_path}"]
    assert modules_of(*words, f"--cache={tmp_path}") == "0 yaml"


def test_where_the_data_is_there_nothing_at_all_is_imported_for_it(staged, tmp_path):
    pin = f"--dataset-pin={staged.pin.model_dump_json()}"
    assert modules_of("ensure", pin, "--project=nowhere", f"--output={tmp_path}", f"--cache={staged.cache}") == "0"


def test_help_and_wrong_names_need_no_step_module():
    assert modules_of("train", "--help") == "0"
    assert modules_of("trian") == "2"


def test_an_unknown_step_is_answered_with_the_nearest(run_step):
    done = run_step("trian")
    assert done.exit_code == ExitCode.USAGE
    assert done.stderr.startswith("trian: no such step; did you mean train?")
