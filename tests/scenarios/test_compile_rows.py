"""Troubles that users of neighbouring systems reported, rows C of the scenario table: each with its right answer."""

import json
from typing import Literal

import pytest
from hera.workflows import DAG, Container, Parameter, Step, Steps, Task, Workflow
from pydantic import BaseModel, create_model

from argosy.pipelines import Accuracy, Dataset, Pipeline, Registry, Training, documents
from argosy.pipelines.checks.rules import check, check_manifest
from argosy.pipelines.compile import compiled
from argosy.pipelines.errors import CompileError, SpecError
from argosy.pipelines.expressions.tags import substitute_tree
from argosy.steps.arguments import parsed
from argosy.steps.contracts import TrainInput
from argosy.steps.gates import Verdict
from argosy.steps.hyperparameters import Hyperparameters
from argosy.steps.registry import PublishInput
from argosy.steps.usercode import hyperparameters
from argosy.steps.values import encode

UNTOUCHED = [
    'he said "hi" it\'s',
    "use {{name}} and {{inputs.parameters.x}}",
    "{{=1+1}}",
    "line1\nline2\t\\\n",
    "$(HOME) $$(HOME)",
    "$(touch /tmp/p)'; id; '",
    "null",
    "None",
    "true",
    "1e3",
    "  padded  ",
    "",
    "bell\x07 escape\x1b[31m",
    "emoji 😀 ümlaut",
    "json:looks encoded",
]


def pipeline(training: Training, **changes) -> Pipeline:
    fields = {
        "name": "digits",
        "dataset": Dataset("data/digits"),
        "training": training,
        "gates": [Accuracy(at_least=0.9)],
        "registry": Registry("digits"),
        "image": "digits:1",
    }
    return Pipeline(**fields | changes)


def manifest(definition: Pipeline) -> dict:
    (document,) = documents.load_all(compiled(definition))
    return document


def template(document: dict, name: str) -> dict:
    return next(one for one in document["spec"]["templates"] if one["name"] == name)


def words(document: dict, name: str, outputs: dict[str, str]) -> list[str]:
    """The arguments of a task's pod, replaced as Argo replaces them: the task's first, then the template's, twice."""
    scope = {f"workflow.parameters.{one['name']}": one["value"] for one in document["spec"]["arguments"]["parameters"]}
    scope |= {"workflow.name": "run", "workflow.uid": "uid", **outputs}
    scope["workflow.parameters.json"] = json.dumps(document["spec"]["arguments"]["parameters"])
    task = next(one for one in template(document, "pipeline")["dag"]["tasks"] if one["name"] == name)
    given = substitute_tree(task["arguments"]["parameters"], scope)
    scope |= {f"inputs.parameters.{one['name']}": one["value"] for one in given}
    args = template(document, name)["container"]["args"]
    return substitute_tree(substitute_tree(args, scope), scope)[1:]


HASH = {"tasks.stage.outputs.parameters.dataset-hash": "0" * 32}


def arrived(value, annotation):
    """What a hyperparameter's value is in the training pod."""
    kind = create_model("Kind", __base__=Hyperparameters, value=(annotation, value))
    document = manifest(pipeline(Training(task="t:T", hyperparameters=kind(value=value))))
    given = parsed(TrainInput, words(document, "train", HASH)).hyperparameters
    return hyperparameters(kind, given).value


@pytest.mark.parametrize("text", UNTOUCHED)
def test_c1_c3_text_arrives_as_it_was_written(text):
    assert arrived(text, str) == text


def test_c4_structured_value_arrives_with_its_lines_and_backslashes():
    verdict = Verdict(
        gate="accuracy-gate", answer="pass", metric="accuracy", estimate=1, bound=1, threshold=0.9, margin=0.1,
        confidence=0.95, samples=9, reason='line1\nline2\t\\ "quoted" {{x}}\n',
    )  # fmt: skip
    outputs = {
        **HASH,
        "tasks.train.outputs.parameters.model": "run/model",
        "tasks.train.outputs.parameters.model-hash": "f" * 64,
        "tasks.accuracy-gate.outputs.parameters.verdict": encode(verdict.model_dump(mode="json")),
    }
    document = manifest(pipeline(Training(task="t:T")))
    assert parsed(PublishInput, words(document, "publish", outputs)).verdicts == {"accuracy-gate": verdict}


@pytest.mark.parametrize("number", [20200219, 1472953, 10**20, -1])
def test_c6_whole_numbers_stay_whole(number):
    assert arrived(number, int) == number


def test_c6_every_parameter_in_the_manifest_is_text():
    document = manifest(pipeline(Training(task="t:T"), seed=20200219))
    held = document["spec"]["arguments"]["parameters"]
    assert {one["name"]: one["value"] for one in held}["seed"] == "20200219"
    assert all(isinstance(one["value"], str) for one in held)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_c8_threshold_that_is_not_finite_is_refused_by_field(number):
    with pytest.raises(SpecError, match=r"Accuracy\.at_least: -?(nan|inf) "):
        Accuracy(at_least=number)


def test_c8_number_that_hera_wrote_as_no_json_is_refused_by_place():
    run = Container(name="run", image="i", inputs=[Parameter(name="limit")])
    task = Task(name="t", template="run", arguments={"limit": float("nan")})
    workflow = Workflow(name="w", entrypoint="d", templates=[run, DAG(name="d", tasks=[task])])
    assert "d.t.limit: NaN is not finite; give a finite number" in map(str, check(workflow))


@pytest.mark.parametrize("value", [None, "null", "None", "", "text"])
def test_c9_none_and_the_word_null_stay_apart(value):
    assert arrived(value, str | None) == value


def test_c9_none_of_a_number_arrives():
    assert arrived(None, int | None) is None


@pytest.mark.parametrize("flag", [True, False])
def test_c10_flags_arrive_as_flags(flag):
    assert arrived(flag, bool) is flag


def test_c10_a_flag_shows_its_default_and_its_values():
    class Flags(BaseModel):
        flag: bool = False

    document = manifest(pipeline(Training(task="t:T", hyperparameters=Flags())))
    held = {one["name"]: one for one in document["spec"]["arguments"]["parameters"]}
    assert (held["flag"]["value"], held["flag"]["enum"]) == ("false", ["true", "false"])


def test_c10_choices_are_shown():
    class Choices(BaseModel):
        schedule: Literal["cosine", "constant"] = "cosine"

    document = manifest(pipeline(Training(task="t:T", hyperparameters=Choices())))
    held = {one["name"]: one for one in document["spec"]["arguments"]["parameters"]}
    assert (held["schedule"]["value"], held["schedule"]["enum"]) == ("cosine", ["cosine", "constant"])


def test_c13_names_get_hyphens_and_help_keeps_its_apostrophe():
    kind = create_model("Kind", __base__=Hyperparameters, dry_run=(bool, False))
    kind.model_fields["dry_run"].description = "don't upload"
    document = manifest(pipeline(Training(task="t:T", hyperparameters=kind())))
    held = {one["name"]: one for one in document["spec"]["arguments"]["parameters"]}
    assert held["dry-run"]["description"] == "don't upload"
    assert parsed(TrainInput, words(document, "train", HASH)).hyperparameters["dry-run"] == "false"


def test_c14_second_template_of_one_name_is_not_lost_silently():
    first, second = (Container(name="train", image=image, command=["true"]) for image in "pq")
    with Workflow(name="w", entrypoint="d") as workflow, DAG(name="d"):
        Task(name="one", template=first)
        Task(name="two", template=second)
    (problem,) = check(workflow)
    assert str(problem) == (
        "templates.train: two templates have this name, one with image p, one with image q; "
        "rename the one that two calls: Hera keeps the first alone"
    )


def test_c15_names_that_become_one_are_both_told():
    run = Container(name="run", image="i")
    tasks = [Task(name=name, template="run") for name in ("a_b", "a-b")]
    workflow = Workflow(name="w", entrypoint="d", templates=[run, DAG(name="d", tasks=tasks)])
    assert "d: a_b and a-b are the same name; give each a name of its own" in map(str, check(workflow))


@pytest.mark.parametrize(("length", "answer"), [(63, []), (64, ["metadata.name: 'a"])])
def test_c16_the_longest_name_is_63_characters(length, answer):
    document = Workflow(name="w", entrypoint="r", templates=[Container(name="r", image="i")]).to_dict()
    document["metadata"]["name"] = "a" * length
    found = check_manifest(document)
    assert [str(one)[:17] for one in found] == answer
    assert all("has 64 characters; leave 63 at most" in str(one) for one in found)


def test_c18_labels_are_made_fit_and_the_original_is_kept():
    document = manifest(pipeline(Training(task="t:T"), labels={"branch": "feature/A_b", "team": "vision"}))
    assert document["metadata"]["labels"] == {"argosy/pipeline": "digits", "branch": "feature-A_b", "team": "vision"}
    assert document["metadata"]["annotations"]["branch"] == "feature/A_b"


def test_c18_names_that_kubernetes_refuses_are_refused():
    workflow = Workflow(name="Train_Model", entrypoint="r", templates=[Container(name="r", image="i")])
    assert [str(one) for one in check(workflow)] == ["metadata.name: 'Train_Model' is no name; write 'train-model'"]


def test_c19_wrong_wiring_is_refused_with_the_nearest_name():
    run = Container(name="run", image="i", inputs=[Parameter(name="note"), Parameter(name="must")])
    tasks = [
        Task(name="first", template="run", arguments={"nope": "1", "must": "1", "note": "1"}),
        Task(name="second", template="run", arguments={"note": "1"}),
        Task(name="third", template="rum", depends="frist"),
        Task(name="a", template="run", arguments={"must": "1", "note": "1"}, depends="b"),
        Task(name="b", template="run", arguments={"must": "1", "note": "1"}, depends="a"),
    ]
    workflow = Workflow(name="w", templates=[run, DAG(name="d", tasks=tasks)])
    assert {str(one) for one in check(workflow)} == {
        "entrypoint: is missing; name the template to begin with: run, d",
        "d.first.nope: run takes no such argument; did you mean note?",
        "d.second.must: run needs it and gets no value; give it, or a default",
        "d.third.template: there is no template rum; did you mean run?",
        "d.third.depends: there is no task frist; did you mean first?",
        "d: the tasks wait for each other: a -> b -> a; remove one arrow",
    }


def conditional(when):
    run = Container(name="run", image="i")
    tasks = [Task(name="a", template="run"), Task(name="b", template="run", depends="a", when=when)]
    return check(Workflow(name="w", entrypoint="d", templates=[run, DAG(name="d", tasks=tasks)]))


def test_c21_hyphen_without_quotes_is_a_subtraction():
    (problem,) = conditional("{{tasks.a.status}} == wanted-but-not-project")
    assert str(problem) == (
        "d.b.when: wanted-but-not-project in column 23 is read as a subtraction; "
        'write "wanted-but-not-project", in quotes'
    )


def test_c21_quoted_hyphen_is_read():
    assert conditional('"{{tasks.a.status}}" == "wanted-but-not-project"') == []


@pytest.mark.parametrize(
    ("when", "message"),
    [("{{tasks.a.status}} = Succeeded", "(column "), ("{{=tasks.a.status}} == x", "mixes two languages")],
)
def test_c22_unreadable_condition_is_told_with_the_form_that_is_read(when, message):
    (problem,) = conditional(when)
    assert message in problem.what
    assert '"{{tasks.NAME.outputs.parameters.answer}}" == "pass"' in problem.remedy


@pytest.mark.parametrize(("size", "problems"), [(131_064, 0), (131_065, 1)])
def test_c23_parameter_that_fits_no_argument_is_refused(size, problems):
    """Linux takes 131,072 bytes of `--text=`, the value and a NUL (execve(2): MAX_ARG_STRLEN)."""
    run = Container(name="run", image="i", inputs=[Parameter(name="text")])
    task = Task(name="t", template="run", arguments={"text": "ü" * (size // 2) + "a" * (size % 2)})
    found = check(Workflow(name="w", entrypoint="d", templates=[run, DAG(name="d", tasks=[task])]))
    assert len(found) == problems
    assert all(str(one).endswith("1 more than fit into an argument; pass it as an artifact") for one in found)


def test_c23_hyperparameter_counts_with_all_that_stands_before_it():
    kind = create_model("Kind", __base__=Hyperparameters, text=(str, ""))
    longest = 131_072 - len("--hyperparameters.text=\0")
    compiled(pipeline(Training(task="t:T", hyperparameters=kind(text="a" * longest))))
    with pytest.raises(CompileError, match="1 more than fit into an argument"):
        compiled(pipeline(Training(task="t:T", hyperparameters=kind(text="a" * (longest + 1)))))


def test_c24_manifest_that_fits_no_cluster_names_its_largest_part():
    run = Container(name="run", image="i")
    tasks = [Task(name=f"t{n}", template="run", when='"' + "x" * 300 + '" == "x"') for n in range(5000)]
    (problem,) = check(Workflow(name="w", entrypoint="d", templates=[run, DAG(name="d", tasks=tasks)]))
    assert problem.where == "the manifest"
    assert "bytes, more than 1,000,000; of these templates.d has 1," in problem.what


def nested(read, export=False):
    leaf = Container(name="leaf", image="i", command=["echo", "1"])
    inner = Steps(name="inner", sub_steps=[Step(name="last", template="leaf")])
    if export:
        inner.outputs = [Parameter(name="result", value_from={"parameter": "{{steps.last.outputs.result}}"})]
    user = Container(name="user", image="i", inputs=[Parameter(name="x")])
    tasks = [
        Task(name="made", template="inner"),
        Task(name="used", template="user", arguments={"x": read}, depends="made"),
    ]
    return check(Workflow(name="w", entrypoint="d", templates=[leaf, inner, user, DAG(name="d", tasks=tasks)]))


@pytest.mark.parametrize(
    "read",
    ["{{tasks.made.outputs.result}}", "{{tasks.last.outputs.result}}", "{{tasks.made.steps.last.outputs.result}}"],
)
def test_c25_output_of_an_inner_step_must_be_exported(read):
    (problem,) = nested(read)
    assert problem.where == "d.used"
    assert problem.remedy.startswith("export it from made: an output parameter there with valueFrom.parameter")


def test_c25_exported_output_is_read():
    assert nested("{{tasks.made.outputs.parameters.result}}", export=True) == []


def test_compiling_refuses_what_checking_finds():
    workflow = Workflow(name="Train_Model", entrypoint="r", templates=[Container(name="r", image="i")])
    with pytest.raises(CompileError, match="'Train_Model' is no name"):
        compiled(workflow)
