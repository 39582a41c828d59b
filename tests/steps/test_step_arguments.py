"""`--name=value` words become a step's input, or one line each says why not."""

import pytest

from argosy.steps import arguments
from argosy.steps.contracts import CONTRACTS, ExitCode, StageInput, Step, TrainInput, option
from argosy.steps.errors import StepError
from argosy.steps.registry import PublishInput

STAGE = ["--output=o", "--dataset=data/digits", "--project=p", "--cache=c"]
TRAIN = [
    *("--output=o", "--task=a.b:C", "--cache=c", f"--dataset-hash={'0' * 32}", "--models=m", "--run=r", "--ranks=2"),
    *("--checkpoint-every-seconds=60", "--checkpoints-kept=2"),
]


def refusal(model, words):
    with pytest.raises(StepError) as caught:
        arguments.parsed(model, words)
    assert caught.value.exit_code == ExitCode.USAGE
    return caught.value.message


def test_text_is_decoded_by_the_type_of_its_field():
    inputs = arguments.parsed(StageInput, [*STAGE, r'--revision=json:"\u007b{x}}"', "--connections=8"])
    assert inputs.revision == "{{x}}"
    assert inputs.connections == 8


def test_a_value_may_hold_equals_signs_and_be_empty():
    assert arguments.parsed(StageInput, [*STAGE, "--revision=a=b"]).revision == "a=b"
    assert arguments.parsed(StageInput, [*STAGE, "--revision="]).revision == ""


def test_hyperparameters_stay_as_they_were_encoded_until_their_types_are_known():
    words = [*TRAIN, "--hyperparameters.learning-rate=0.010", '--hyperparameters.note=json:"null"']
    inputs = arguments.parsed(TrainInput, words)
    assert inputs.hyperparameters == {"learning-rate": "0.010", "note": 'json:"null"'}


def test_a_dict_of_models_is_filled_key_by_key():
    verdict = (
        '{"gate":"g","answer":"pass","metric":"m","estimate":1,"bound":1,"threshold":0.5,"margin":0.5,'
        '"confidence":0.9,"samples":9,"reason":"r"}'
    )
    words = [
        *("--output=o", "--registry=r", "--alias=a", "--tracking-uri=t", "--models=m", "--model=m", "--model-hash=h"),
        *("--run=r", "--run-uid=u", "--dataset=d", f"--dataset-hash={'0' * 32}", "--task=t:T", "--image=i"),
        *("--parameters=[]", f"--verdicts.accuracy-gate={verdict}", "--folder=null"),
    ]
    inputs = arguments.parsed(PublishInput, words)
    assert inputs.verdicts["accuracy-gate"].bound == 1
    assert inputs.folder is None


@pytest.mark.parametrize(
    ("word", "line"),
    [
        ("--revison=x", "--revison: no such argument; did you mean --revision?"),
        ("revision=x", "revision: no such argument; did you mean --revision?"),
        ("--revision", "--revision: has no value; write --revision=VALUE, in one word"),
        ("--cache=d", "--cache: is given twice; leave one"),
        ("--revision.x=1", "--revision.x: is not of the form --revision=VALUE"),
        ("--connections=0", "--connections=0: input should be greater than or equal to 1"),
    ],
)
def test_a_wrong_word_is_named_with_its_remedy(word, line):
    message = refusal(StageInput, [*STAGE, word])
    assert message.startswith(line)
    assert "\n" not in message


def test_every_fault_has_a_line_of_its_own():
    message = refusal(TrainInput, ["--nope=1", *TRAIN[1:-1], "--ranks=two", "--seed=two"])
    lines = message.splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        "--nope",
        "--ranks",
        "--output",
        "--seed=two",
        "--checkpoints-kept",
    ]
    assert lines[2] == "--output: is missing; it is the folder that receives the step's outputs and its record.json"


def test_a_dict_needs_keys():
    assert "--hyperparameters.KEY=VALUE" in refusal(TrainInput, [*TRAIN, "--hyperparameters={}"])


@pytest.mark.parametrize("step", Step)
def test_help_names_every_field(step):
    model = CONTRACTS[step][0]
    text = arguments.help_text(step, model)
    assert all(f"--{option(field)}" in text for field in model.model_fields)
