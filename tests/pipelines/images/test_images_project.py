"""What a project says of its images: names, and what its pods import."""

import re

import pytest

from argosy.pipelines.errors import Refusal
from argosy.pipelines.images.project import Definition


@pytest.fixture
def definition(tmp_path):
    def of(text):
        (tmp_path / "pyproject.toml").write_text(text)
        return Definition.of(tmp_path)

    return of


PROJECT = '[project]\nname = "My-Model"\nversion = "1.0+cu12"\n'


def test_an_image_is_named_after_its_project(definition):
    assert definition(PROJECT).image == "my-model:1.0+cu12"


def test_an_image_may_have_a_name_of_its_own(definition):
    text = PROJECT + '[tool.argosy.images]\nname = "team/model"\n'
    assert definition(text).image == "team/model:1.0+cu12"


def test_pods_get_the_projects_requirements_and_those_of_argosys_steps(definition):
    text = PROJECT + 'dependencies = ["argosy[pipelines,steps]>=0.1", "scikit-learn>=1.6"]\n'
    wanted = definition(text).requirements()
    names = {re.match(r"[\w-]+", line)[0] for line in wanted}
    assert {"scikit-learn", "torch", "dvc", "mlflow", "pydantic"} <= names
    assert not names & {"argosy", "hera", "click", "rich"}


def test_pods_get_the_extras_that_are_named_and_no_others(definition):
    text = PROJECT + '[project.optional-dependencies]\nvision = ["pillow"]\ndev = ["pytest"]\n'
    wanted = definition(text + '[tool.argosy.images]\nextras = ["vision"]\n').requirements()
    assert "pillow" in wanted
    assert "pytest" not in wanted


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "has no table"),
        ("[project]\nname = 1\n", "Expected `str`"),
        ("[project\n", "line 1"),
        (PROJECT + '[tool.argosy.images]\nname = "Team Model"\n', "matching regex"),
        ('[project]\nname = "My Model"\nversion = "1"\n', "matching regex"),
        ('[project]\nname = "model"\nversion = "1 beta"\n', "matching regex"),
        (PROJECT + "[tool]\nargosy = 3\n", "Expected `object`"),
        ("tool = 3\n" + PROJECT, "Expected `object`"),
        (PROJECT + "[tool.argosy.images]\nnmae = 1\n", "nmae"),
        (PROJECT + '[tool.argosy.images]\nextras = ["vision"]\n', "no extra of the project"),
    ],
)
def test_a_wrong_pyproject_is_told_by_file_and_fault(definition, text, what):
    with pytest.raises(Refusal, match=rf"pyproject\.toml: .*{what}"):
        definition(text)


def test_a_missing_pyproject_is_told(tmp_path):
    with pytest.raises(Refusal, match=r"pyproject\.toml: is not there"):
        Definition.of(tmp_path)
