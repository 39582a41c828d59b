"""The user's code by import string: what is missing is said by name."""

import sys
from typing import Literal

import pytest

from argosy.steps import task, usercode, values
from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.hyperparameters import Hyperparameters


class Given(Hyperparameters):
    note: str | None = None
    rate: float = 0.1
    kind: Literal["a", "1"] = "a"
    nesterov: bool = False


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "usercode_sample"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "good.py").write_text("class Task: pass\n")
    (folder / "needy.py").write_text("import surely_not_installed\n")
    (folder / "broken.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in [name for name in sys.modules if name.startswith("usercode_sample")]:
        del sys.modules[name]


def refusal(call, *arguments):
    with pytest.raises(StepError) as caught:
        call(*arguments)
    assert caught.value.exit_code == ExitCode.USAGE
    return caught.value.message


@pytest.mark.usefixtures("package")
def test_each_thing_that_can_be_missing_has_its_own_message():
    assert "there is no module usercode_sampel;" in refusal(usercode.imported, "usercode_sampel.good:Task")
    assert "there is no module usercode_sample.god;" in refusal(usercode.imported, "usercode_sample.god:Task")
    assert "has no Tusk; did you mean Task?" in refusal(usercode.imported, "usercode_sample.good:Tusk")
    needy = refusal(usercode.imported, "usercode_sample.needy:Task")
    assert "usercode_sample.needy is there, but imports surely_not_installed" in needy


@pytest.mark.usefixtures("package")
def test_an_exception_of_the_users_module_is_not_masked():
    with pytest.raises(ZeroDivisionError):
        usercode.imported("usercode_sample.broken:Task")


@pytest.mark.usefixtures("package")
def test_what_is_no_task_is_refused():
    assert "is no task" in refusal(task.made, "usercode_sample.good:Task", {})


@pytest.mark.parametrize(
    "wanted", [Given(), Given(note="null"), Given(note="0.5", rate=1e-9, kind="1", nesterov=True), Given(note="{{x}}")]
)
def test_hyperparameters_arrive_as_they_were_encoded(wanted):
    text = {name.replace("_", "-"): values.encode(value) for name, value in wanted}
    assert usercode.hyperparameters(Given, text) == wanted


def test_each_wrong_hyperparameter_has_a_line():
    message = refusal(usercode.hyperparameters, Given, {"rate": "fast", "batch_sise": "1"})
    wrong, unknown = message.splitlines()
    assert wrong.startswith("--hyperparameters.rate=fast: input should be a valid number")
    assert unknown == "--hyperparameters.batch-sise: the task has no such hyperparameter; did you mean batch-size?"


def test_the_reference_task_is_made_from_text():
    made = task.made("argosy.steps.digits:Digits", {"channels": "4", "learning-rate": "0.01"})
    assert made.hyperparameters.model_dump()["channels"] == 4
