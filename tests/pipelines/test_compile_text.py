"""The manifest as text: the values that were meant, whoever reads it."""

import pytest
import yaml
from hera.workflows import Container, Workflow

from argosy.pipelines import documents
from argosy.pipelines.compile import compiled, rendered
from argosy.pipelines.errors import CompileError

TEXTS = [
    "1e3", "12345e6789", "08", "0o7", "0x1F", "1_000", ".5e3", "+.5", "+5", "1E3", "1:2:3", "1.",
    "12:30", "2024-01-01", "y", "N", "off", "null", "~",
    "", " padded ", "=", "<<", "- a", "a: b", "# no comment", "'single'", '"double"', "back\\slash",
    "é", "😀", "first\nsecond\n", "trailing space \nsecond", "\n", "tab\tand\rreturn",
    "{{workflow.name}}", "%", "@", "`",
    "a" * 500,
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_text_stays_text_for_every_reader(text):
    rendering = rendered({"value": text})
    assert yaml.safe_load(rendering) == {"value": text}
    assert list(documents.load_all(rendering)) == [{"value": text}]


def test_long_values_stay_on_one_line():
    assert "value: " + "word " * 99 + "word" in rendered({"value": "word " * 99 + "word"})


def test_refusal_holds_every_problem():
    workflow = Workflow(name="Wrong_Name", templates=[Container(name="Also_Wrong", image="i")])
    with pytest.raises(CompileError) as caught:
        compiled(workflow)
    assert {"metadata.name", "templates.Also_Wrong", "entrypoint"} <= {one.where for one in caught.value.problems}


def test_plain_hera_workflow_compiles():
    workflow = Workflow(name="plain", entrypoint="say", templates=[Container(name="say", image="i", command=["true"])])
    assert yaml.safe_load(compiled(workflow)) == workflow.to_dict()
