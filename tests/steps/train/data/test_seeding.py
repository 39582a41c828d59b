"""Whatever is drawn follows from seeds."""

import random

import numpy as np
import torch

from argosy.steps.train.data.seeding import kept_generators, mixed, seed_generators, seed_sample


def draws():
    return torch.rand(1).item(), random.random(), np.random.rand()  # noqa: NPY002 - as users' augmentations draw


def test_seeding_leaves_every_generator_in_the_same_state():
    def drawn(seeded, *parts):
        seeded(*parts)
        return draws()

    for seeded in (seed_generators, seed_sample):
        assert drawn(seeded, 1, "step", 5, 0) == drawn(seeded, 1, "step", 5, 0)
        assert len(set(drawn(seeded, 1, "step", 5, 0) + drawn(seeded, 1, "step", 5, 1))) == 6


def test_seeds_of_different_places_differ():
    assert mixed(1, 23) != mixed(12, 3)


def test_what_a_sample_draws_leaves_the_generators_as_they_were():
    seed_generators(1)
    wanted = draws()
    seed_generators(1)
    with kept_generators():
        seed_sample(2)
        inside = draws()
    assert draws() == wanted
    seed_sample(2)
    assert draws() == inside
