"""When a checkpoint is due."""

import math

import pytest

from argosy.steps.train.checkpoints import Interval


def test_a_fixed_interval_is_due_that_long_after_the_last_one():
    interval = Interval(10, 24)
    assert not interval.due(100)
    assert not interval.due(109.9)
    assert interval.due(110)
    interval.saved(112, 5, 60)
    assert not interval.due(121.9)
    assert interval.due(122)


@pytest.mark.parametrize(("stall", "hours"), [(0.1, 24), (2, 24), (0.1, 1)])
def test_a_chosen_one_costs_least_of_all(stall, hours):
    interval = Interval(0, hours)
    interval.due(0)
    interval.saved(30, stall, 0.5)

    def cost(seconds):
        """Share of the time that is lost: to stalls, and to work that is done again."""
        return stall / seconds + seconds / 2 / (3600 * hours)

    least = cost(interval.seconds)
    assert all(cost(interval.seconds * factor) > least for factor in (0.8, 0.99, 1.01, 1.25))


def test_the_chosen_one_is_never_shorter_than_a_save_takes():
    interval = Interval(0, 24)
    interval.saved(0, 0.0, 90)
    assert interval.seconds == 90
    assert not interval.due(89)
    assert interval.due(90)


def test_before_the_first_save_it_is_short_enough_to_learn_what_one_costs():
    interval = Interval(0, 24)
    interval.due(0)
    assert interval.due(60)
    interval.saved(60, 1, 2)
    assert interval.seconds == math.sqrt(2 * 24 * 3600)
