"""A user's file is loaded, or the user's own line is named."""

from pathlib import Path

import pytest

from argosy.pipelines.errors import LoadError
from argosy.pipelines.load import load as loaded

HEAD = "from argosy.pipelines import *\nfrom hera.workflows import Container, Workflow\n"
PIPELINE = (
    "{0} = Pipeline(name='{0}', dataset=Dataset('data'), training=Training(task='t:T'), gates=[Accuracy(at_least=0.9)],"
    " registry=Registry('{0}'), image='i')\n"
)


@pytest.fixture
def file(tmp_path: Path):
    def write(text: str, name: str = "definition.py") -> Path:
        path = tmp_path / name
        path.write_text(HEAD + text)
        return path

    return write


def load(path, name=None):
    return loaded(path, name).workflow


def message(path, name=None):
    with pytest.raises(LoadError) as caught:
        load(path, name)
    return str(caught.value)


def test_pipeline_alone_is_compiled(file):
    assert load(file(PIPELINE.format("digits"))).generate_name == "digits-"


def test_workflow_made_of_the_pipeline_counts_since_it_may_have_been_changed(file):
    text = PIPELINE.format("digits") + "workflow = digits.workflow()\nworkflow.parallelism = 2\n"
    assert load(file(text)).parallelism == 2


def test_plain_workflow_is_found(file):
    assert load(file("w = Workflow(name='plain', entrypoint='a')\nalias = w\n")).name == "plain"


def test_one_of_several_is_chosen_by_name(file):
    path = file(PIPELINE.format("first") + PIPELINE.format("second"))
    assert load(path, "second").generate_name == "second-"
    assert "defines several: first, second; name one of first, second" in message(path)
    assert "defines no secnd; did you mean second?" in message(path, "secnd")


def test_file_without_a_definition_is_refused(file):
    assert "defines no Pipeline and no Workflow; assign one to a variable" in message(file(""))


def test_missing_file_is_named(tmp_path):
    assert f"{tmp_path}/none.py: is no Python file" in message(tmp_path / "none.py")


def test_wrong_value_is_told_with_its_line(file):
    path = file("\n\ngate = Accuracy(at_least=1.5)\n")
    assert message(path).startswith(f"{path}:5: Accuracy.at_least: 1.5 is not below 1; give")


def test_wrong_hyperparameter_is_told_with_its_line(file):
    path = file(
        "from argosy.steps.digits_hyperparameters import DigitsHyperparameters\nh = DigitsHyperparameters(epochs=0)\n"
    )
    assert message(path).startswith(f"{path}:4: DigitsHyperparameters.epochs: 0 is below 1; give")


def test_syntax_error_is_told_with_its_line(file):
    path = file("a = (\n")
    assert message(path) == f"{path}:3: syntax error: '(' was never closed; correct that line"


def test_file_of_bytes_that_are_no_text_is_told_without_a_line(tmp_path):
    path = tmp_path / "binary.py"
    path.write_bytes(b"\0\0")
    assert message(path).startswith(f"{path}: syntax error: ")


def test_file_that_ends_the_program_is_told_with_its_line(file):
    path = file("import sys\nsys.exit(3)\n")
    assert message(path) == f"{path}:4: ends argosy: sys.exit(3); remove it; the file need only define"


def test_what_the_file_prints_is_kept_from_standard_output(file, capfd):
    load(file("print('hello')\n" + PIPELINE.format("digits")))
    assert capfd.readouterr() == ("", "hello\n")


def test_pipeline_of_a_workflow_is_known(file):
    text = PIPELINE.format("digits") + PIPELINE.format("other") + "w = digits.workflow()\n"
    assert loaded(file(text)).pipeline.name == "digits"
    assert loaded(file("w = Workflow(name='plain', entrypoint='a')\n")).pipeline is None


def test_wrong_value_of_a_field_without_a_meaning_is_told_with_what_is_allowed(file):
    path = file("from pydantic import BaseModel, Field\nclass H(BaseModel):\n    n: int = Field(ge=1)\nH(n=0)\n")
    assert message(path) == f"{path}:6: H.n: 0 is below 1; give 1 or more"


def test_exception_is_told_with_the_users_line(file, tmp_path):
    (tmp_path / "helper.py").write_text("def broken():\n    return 1 / 0\n")
    (tmp_path / "pyproject.toml").write_text("")
    path = file("import helper\nhelper.broken()\n")
    assert message(path) == f"{tmp_path}/helper.py:2: ZeroDivisionError: division by zero; correct that line"


def test_missing_module_is_named(file):
    path = file("import not_there_at_all\n")
    assert message(path).startswith(f"{path}:3: there is no module not_there_at_all; install it")


def test_error_of_hera_is_told_with_the_users_line(file):
    path = file("from hera.workflows import DAG, Task\nwith DAG(name='d'):\n    Task(name='t')\n")
    assert message(path).startswith(f"{path}:5: ValueError: Exactly one of")
