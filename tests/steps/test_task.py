"""What a task's loss and judgement must be: anything else is said with the method and its place."""

import re

import pytest
import torch

from argosy.steps import task
from argosy.steps.contracts import ExitCode
from argosy.steps.digits import Digits
from argosy.steps.digits_hyperparameters import DigitsHyperparameters
from argosy.steps.errors import StepError

OUTPUTS = torch.zeros(4, 10, requires_grad=True)
TARGETS = torch.tensor([0, 1, 2, 3])


class Answering(Digits):
    """Gives the same, whatever it is asked."""

    def __init__(self, answer):
        super().__init__(DigitsHyperparameters())
        self.answer = answer

    def loss(self, *_):
        return self.answer

    def correct(self, *_):
        return self.answer


def refusal(judge, answer):
    with pytest.raises(StepError) as caught:
        judge(Answering(answer), OUTPUTS, TARGETS)
    assert caught.value.exit_code == ExitCode.CODE
    method = getattr(Answering, judge.__name__)
    place = f"{judge.__name__}() ({__file__}:{method.__code__.co_firstlineno}) gave "
    assert caught.value.message.startswith(place)
    return caught.value.message.removeprefix(place)


@pytest.mark.parametrize(
    ("answer", "gave"),
    [
        (0.5, "float"),
        (None, "NoneType"),
        (OUTPUTS.sum(dim=1), "torch.float32 of shape (4,)"),
        (TARGETS.sum(), "torch.int64 of shape ()"),
        (torch.tensor(0.5), "a tensor without a gradient"),
    ],
)
def test_a_loss_that_nothing_can_be_learned_from_is_refused(answer, gave):
    assert re.match(rf"{re.escape(gave)}; it must give (a scalar tensor|one that follows)", refusal(task.loss, answer))


@pytest.mark.parametrize(
    ("answer", "gave"),
    [
        (True, "bool"),
        (TARGETS.unsqueeze(1) == TARGETS, "torch.bool of shape (4, 4)"),
        (torch.tensor(True), "torch.bool of shape ()"),
        (TARGETS, "torch.int64 of shape (4,)"),
    ],
)
def test_a_judgement_that_would_be_miscounted_is_refused(answer, gave):
    assert refusal(task.correct, answer) == f"{gave}; it must give torch.bool of shape (4,)"


def test_what_is_no_method_is_not_suggested_for_itself():
    with pytest.raises(StepError, match=r"has no method hyperparameters, which metric=hyperparameters needs$"):
        task.metric(Digits(DigitsHyperparameters()), "hyperparameters", OUTPUTS, TARGETS)


def test_the_reference_task_gives_both_as_they_must_be():
    reference = Digits(DigitsHyperparameters())
    assert task.loss(reference, OUTPUTS, TARGETS).shape == ()
    assert task.correct(reference, OUTPUTS, TARGETS).tolist() == [True, False, False, False]
