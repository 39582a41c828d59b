"""The position in the data is one integer."""

import random

import numpy as np
import pytest
import torch

from argosy.steps.train.data import Batches, mixed, seed_generators


def test_every_epoch_sees_each_sample_once_in_an_order_of_its_own():
    batches = Batches(samples=10, batch_size=4, epochs=3, seed=0)
    assert batches.total == 9
    epochs = [torch.cat([batches.at(3 * epoch + step) for step in range(3)]).tolist() for epoch in range(3)]
    assert all(sorted(epoch) == list(range(10)) for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == 3


def test_a_step_gives_the_same_batch_whatever_was_asked_before():
    straight = Batches(samples=10, batch_size=4, epochs=3, seed=7)
    wanted = [straight.at(step).tolist() for step in range(9)]
    for step in (8, 0, 5, 4):
        assert Batches(samples=10, batch_size=4, epochs=3, seed=7).at(step).tolist() == wanted[step]


def test_the_order_depends_on_the_seed():
    one, other = (Batches(samples=100, batch_size=100, epochs=1, seed=seed).at(0).tolist() for seed in (0, 1))
    assert one != other


@pytest.mark.parametrize("ranks", [1, 2, 3, 7])
def test_the_ranks_parts_of_a_batch_make_it_whole(ranks):
    batch = Batches(samples=5, batch_size=5, epochs=1, seed=0).at(0)
    parts = [batch[rank::ranks].tolist() for rank in range(ranks)]
    assert sorted(index for part in parts for index in part) == sorted(batch.tolist())


def test_seeding_leaves_every_generator_in_the_same_state():
    def drawn(*parts):
        seed_generators(*parts)
        return torch.rand(1).item(), random.random(), np.random.rand()  # noqa: NPY002 - as users' augmentations draw

    assert drawn(1, "step", 5, 0) == drawn(1, "step", 5, 0)
    assert len(set(drawn(1, "step", 5, 0) + drawn(1, "step", 5, 1))) == 6


def test_seeds_of_different_places_differ():
    assert mixed(1, 23) != mixed(12, 3)
