"""Weights that are no finite numbers are found whatever they are made of, and the step that looks is said to wait."""

import math
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from argosy.steps.train import keeping, parts
from argosy.steps.train.checkpoints import Interval
from argosy.steps.train.keeping import Keeper
from argosy.steps.train.surroundings import Unseen

DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.complex64, torch.float8_e5m2]


def model_of(*weights):
    module = nn.Module()
    for number, weight in enumerate(weights):
        module.register_parameter(f"weight {number}", nn.Parameter(weight, requires_grad=False))
    return {"model": module}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_one_number_among_many_that_is_not_finite_is_found(dtype, number):
    sound = torch.ones(3, 333)
    assert parts.are_finite(model_of(sound.to(dtype), sound))
    spoiled = sound.clone()
    spoiled[2, 300] = number
    assert not parts.are_finite(model_of(sound, spoiled.to(dtype)))


def test_weights_of_which_this_rank_has_none_and_whole_numbers_are_finite():
    assert parts.are_finite({})
    assert parts.are_finite(model_of(torch.empty(0, 3), torch.tensor([1, -2], dtype=torch.int8), torch.tensor(True)))
    assert not parts.are_finite(model_of(torch.empty(0, 3), torch.tensor(math.nan)))


def test_the_largest_numbers_of_a_type_are_finite():
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        assert parts.are_finite(model_of(torch.full((1000,), torch.finfo(dtype).max, dtype=dtype)))


def test_the_look_at_the_weights_is_a_part_of_the_stall(monkeypatch, open_checkpoints):
    clock = SimpleNamespace(now=100.0)

    def look(_given):
        clock.now += 7
        return True

    monkeypatch.setattr(keeping, "time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(parts, "are_finite", look)
    world = SimpleNamespace(rank=0, summed=lambda *numbers: list(numbers))
    interval = Interval(0, hours_between_failures=1)
    around = SimpleNamespace(world=world, checkpoints=open_checkpoints(), signs=Unseen(), interval=interval)
    keeper = Keeper(around, {})
    keeper.resume(model_of(torch.ones(3)))
    keeper.save(1, None)
    keeper.finish()
    assert keeper.stall_seconds == 7
    assert interval.seconds == pytest.approx(math.sqrt(2 * 7 * 3600))
