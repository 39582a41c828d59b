"""Which version the alias comes to, and what happens when another became champion since a model was compared."""

from pathlib import Path

import pytest

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.gates import Answer, Comparison, Policy
from argosy.steps.publish import comparison, rollback, step
from argosy.steps.publish.versions import Versions
from argosy.steps.registry import RollbackInput

GATE = "champion-gate"


@pytest.fixture
def compared(inputs, mlflow_client, verdict, monkeypatch):
    """Inputs of a publish whose model was compared with a version; `again` says what a new comparison then gives."""
    asked = []

    def made(uid, champion, again=Answer.PASS, policy=Policy.FAIL):
        def compares(given, gate):
            asked.append((uid, gate))
            at = holder(mlflow_client, given.alias)
            return verdict(gate, again, champion=at, inconclusive=policy, reason=f"{again} against {at}")

        monkeypatch.setattr(comparison, "again", compares)
        return inputs(
            uid,
            verdicts={GATE: verdict(GATE, champion=champion)},
            comparisons={GATE: Comparison(confidence=0.95, margin=0.01)},
        )

    made.asked = asked
    return made


def tags(client, number):
    return client.get_model_version("digits", str(number)).tags


def holder(client, alias="champion"):
    found = client.get_registered_model("digits").aliases.get(alias)
    return None if found is None else int(found)


def test_what_was_compared_with_the_champion_of_now_is_not_compared_again(compared, mlflow_client):
    step.run(compared("first", None))
    step.run(compared("second", 1))
    assert not compared.asked
    assert holder(mlflow_client) == 2
    assert tags(mlflow_client, 2)["argosy.replaces"] == "1"


def test_a_model_that_was_compared_with_an_earlier_champion_is_compared_again_with_that_of_now(
    compared, mlflow_client, tmp_path
):
    step.run(compared("first", None))
    step.run(compared("second", 1))
    assert step.run(compared("third", 1)).champion == 3
    assert compared.asked == [("third", GATE)]
    assert tags(mlflow_client, 3)[f"argosy.gate.{GATE}"] == "pass against 2"
    run = mlflow_client.get_model_version("digits", "3").run_id
    kept = mlflow_client.download_artifacts(run, f"comparisons/{GATE}-with-version-2.json", str(tmp_path))
    assert '"pass against 2"' in Path(kept).read_text()


@pytest.mark.parametrize(
    ("again", "policy", "wins"),
    [
        (Answer.FAIL, Policy.PASS, False),
        (Answer.INCONCLUSIVE, Policy.FAIL, False),
        (Answer.INCONCLUSIVE, Policy.HOLD, False),  # nobody can be asked while publishing
        (Answer.INCONCLUSIVE, Policy.PASS, True),
    ],
)
def test_what_loses_the_comparison_made_again_is_challenger_and_the_alias_stays(
    compared, mlflow_client, again, policy, wins
):
    step.run(compared("first", None))
    step.run(compared("second", 1))
    output = step.run(compared("third", 1, again, policy))
    assert output.champion == (3 if wins else 2)
    assert holder(mlflow_client, "challenger") == (None if wins else 3)
    decided = tags(mlflow_client, 3)
    assert decided["argosy.decision"] == ("champion" if wins else "challenger")
    assert wins or decided["argosy.decision_reason"] == f"{GATE}: {again} against 2"


def test_a_challenger_stays_one_when_its_publish_is_tried_again(compared, mlflow_client):
    step.run(compared("first", None))
    step.run(compared("second", None, Answer.FAIL))
    output = step.run(compared("second", None, Answer.PASS))
    assert (output.version, output.champion, output.created) == (2, 1, False)
    assert output.summary == "digits version 2, while champion stays at version 1"
    assert holder(mlflow_client) == 1


def test_a_comparison_that_must_be_made_again_without_data_is_said_so(inputs, verdict):
    step.run(inputs("first"))
    made = inputs(
        "second",
        verdicts={GATE: verdict(GATE, champion=None)},
        comparisons={GATE: Comparison(confidence=0.95, margin=0.01)},
    )
    with pytest.raises(StepError, match=f"{GATE}: another version is champion now; give --cache") as caught:
        step.run(made)
    assert caught.value.exit_code == ExitCode.CONFIGURATION


# ---------------------------------------------------------------------------------------------- rolling back


@pytest.fixture
def roll(inputs, tmp_path):
    def back(version=0, alias="champion"):
        given = inputs()
        return rollback.run(
            RollbackInput(
                output=tmp_path / "out",
                registry="digits",
                tracking_uri=given.tracking_uri,
                alias=alias,
                version=version,
            )
        )

    return back


def test_the_alias_goes_back_to_what_it_replaced_and_no_retry_of_the_publish_brings_it_forth(
    inputs, roll, mlflow_client
):
    for uid in ("a", "b", "c"):
        step.run(inputs(uid))
    first = roll()
    assert (first.version, first.left) == (2, 3)
    assert first.summary == "champion is at digits version 2, back from version 3"
    assert step.run(inputs("c")).champion == 2
    second = roll()
    assert (second.version, second.left) == (1, 2)
    assert tags(mlflow_client, 3)["argosy.decision"] == "rolled-back"


def test_a_version_that_is_named_is_gone_to_and_naming_it_again_changes_nothing(inputs, roll):
    for uid in ("a", "b", "c"):
        step.run(inputs(uid))
    assert (roll(1).version, roll(1).left) == (1, 1)
    assert (roll(3).left, roll(0).version) == (1, 2)


def test_what_is_published_after_a_rollback_takes_the_alias_and_says_what_it_replaced(inputs, roll, mlflow_client):
    step.run(inputs("a"))
    step.run(inputs("b"))
    roll()
    assert step.run(inputs("c")).champion == 3
    assert tags(mlflow_client, 3)["argosy.replaces"] == "1"


def test_a_version_that_lost_the_comparison_is_not_gone_to(compared, roll, mlflow_client):
    step.run(compared("first", None))
    step.run(compared("second", None, Answer.FAIL))
    with pytest.raises(StepError, match=r"version 2: may not become champion; .*challenger: champion-gate: fail") as it:
        roll(2)
    assert it.value.exit_code == ExitCode.DATA
    assert holder(mlflow_client) == 1


def test_a_version_that_was_registered_by_hand_is_not_gone_to(inputs, roll, mlflow_client):
    step.run(inputs("a"))
    first = mlflow_client.get_model_version("digits", "1")
    mlflow_client.create_model_version("digits", first.source, first.run_id)
    with pytest.raises(StepError, match="version 2: may not become champion"):
        roll(2)


def test_where_there_is_nothing_to_go_back_to_it_is_said_what_is_missing(inputs, roll):
    step.run(inputs("a"))
    with pytest.raises(StepError, match=r"digits version 1: has no tag argosy\.replaces.*name a version to go to"):
        roll()
    with pytest.raises(StepError, match=r"digits: no version is staging"):
        roll(alias="staging")
    with pytest.raises(StepError, match=r"digits: there is no version 7; it has 1"):
        roll(7)


def test_an_alias_that_moves_while_it_is_rolled_back_is_left_where_it_then_is(inputs, roll, mlflow_client, monkeypatch):
    for uid in ("a", "b", "c"):
        step.run(inputs(uid))
    decide = Versions.decide

    def meanwhile(self, *words):
        decide(self, *words)
        mlflow_client.set_registered_model_alias("digits", "champion", "1")

    monkeypatch.setattr(Versions, "decide", meanwhile)
    with pytest.raises(StepError, match="champion has moved to version 1 meanwhile"):
        roll()
    assert holder(mlflow_client) == 1
