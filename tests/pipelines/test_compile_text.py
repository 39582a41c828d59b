"""The manifest as text: the values that were meant, whoever reads it."""

import time

import pytest
import yaml
from hera.workflows import DAG, Container, Task, Workflow, models

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


def chain(length):
    run = Container(name="run", image="i", command=["true"], args=["{{inputs.parameters.n}}"])
    run.inputs = models.Inputs(parameters=[models.Parameter(name="n")])
    tasks = [
        Task(name=f"t{n}", template="run", arguments={"n": str(n)}, depends=f"t{n - 1}" if n else None)
        for n in range(length)
    ]
    return Workflow(generate_name="chain-", entrypoint="all", templates=[run, DAG(name="all", tasks=tasks)])


def test_time_to_compile_grows_with_the_tasks_and_no_faster():
    def seconds(workflow):
        start = time.process_time()
        compiled(workflow)
        return time.process_time() - start

    def least(workflow):
        return min(seconds(workflow) for _ in range(3))

    assert least(chain(2000)) < 2 * 4 * least(chain(500))
