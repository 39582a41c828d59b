"""The position in the data is one integer."""

import numpy as np
import pytest

from argosy.steps.train.data.order import SHARDS_PER_BLOCK, Order, permutation


def order(*lengths, batch_size=4, epochs=3, seed=0):
    return Order(np.array(lengths), batch_size=batch_size, epochs=epochs, seed=seed)


@pytest.mark.parametrize("lengths", [[1], [10], [3, 4, 3], [2, 1, 5] * 17, [1] * 100])
@pytest.mark.parametrize("batch_size", [1, 4, 7, 1000])
def test_every_epoch_has_each_sample_once_in_an_order_of_its_own(lengths, batch_size):
    whole = order(*lengths, batch_size=batch_size)
    assert whole.total == 3 * whole.per_epoch == 3 * -(-sum(lengths) // batch_size)
    epochs = []
    for epoch in range(3):
        steps = [whole.at(epoch * whole.per_epoch + step) for step in range(whole.per_epoch)]
        assert {step.epoch for step in steps} == {epoch}
        epochs.append(np.concatenate([step.samples for step in steps]).tolist())
    assert all(sorted(epoch) == list(range(sum(lengths))) for epoch in epochs)
    if sum(lengths) > 9:
        assert len(set(map(tuple, epochs))) == 3


def test_a_step_has_the_same_samples_whatever_was_asked_before():
    wanted = [order(6, 4).at(step).samples.tolist() for step in range(9)]
    other = order(6, 4)
    for step in (8, 0, 5, 4, 5):
        assert other.at(step).samples.tolist() == wanted[step]


def test_the_order_depends_on_the_seed():
    one, other = (order(100, batch_size=100, seed=seed).at(0).samples.tolist() for seed in (0, 1))
    assert one != other


def test_an_epoch_is_read_block_by_block_of_shards_and_the_blocks_differ_between_epochs():
    whole = order(*[10] * 64, batch_size=10 * SHARDS_PER_BLOCK)
    blocks = [frozenset((whole.at(step).samples // 10).tolist()) for step in range(8)]
    assert [len(block) for block in blocks] == [SHARDS_PER_BLOCK] * 8
    assert len(set(blocks)) == 8


def test_samples_of_a_block_are_mixed():
    samples = order(*[100] * SHARDS_PER_BLOCK, batch_size=160).at(0).samples
    assert len(set((samples // 100).tolist())) == SHARDS_PER_BLOCK


def test_the_permutation_of_a_key_is_the_same_on_every_machine_and_in_every_release():
    assert permutation(12, 2024).tolist() == [1, 3, 6, 8, 2, 9, 10, 5, 7, 0, 4, 11]


def test_a_permutation_puts_every_number_everywhere():
    places = np.array([permutation(8, key) for key in range(4000)])
    counts = np.array([np.bincount(places[:, place], minlength=8) for place in range(8)])
    assert abs(counts - 500).max() < 110  # five standard deviations
