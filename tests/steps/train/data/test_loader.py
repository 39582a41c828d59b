"""A training sees the same samples, wherever it was stopped, and however many ranks and workers read them."""

import os
from itertools import islice, zip_longest

import pytest
import torch

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.train.data.evaluation import evaluation
from argosy.steps.train.data.loader import Loader
from argosy.steps.train.data.seeding import seed_generators

LENGTHS = [5, 1, 8, 3, 6]
SETTINGS = {"batch_size": 6, "epochs": 3, "seed": 3}


@pytest.fixture
def seen(tasks, dataset):
    """`seen(first, steps, size, workers)`: what each of these steps trains on, the parts of all ranks together."""
    whole = dataset(*LENGTHS)

    def steps_of(first, steps, size, workers):
        ranks = []
        for rank in range(size):
            loader = Loader(tasks.Drawing(), whole, **SETTINGS, rank=rank, size=size, workers=workers)
            batches = loader.batches(first)
            ranks.append(list(islice(batches, steps)))
            batches.close()
        assert len({len(rank) for rank in ranks}) == 1
        return [together(parts) for parts in zip(*ranks, strict=True)]

    return steps_of


def together(parts):
    """The samples of all ranks, in the batch's order."""
    counts = [round(part.weight * part.samples / len(parts)) for part in parts]
    assert sum(counts) == parts[0].samples
    assert [len(part.inputs) for part in parts] == [max(count, 1) for count in counts]
    columns = [part.inputs[:count].tolist() for part, count in zip(parts, counts, strict=True)]
    return [tuple(sample) for row in zip_longest(*columns) for sample in row if sample is not None]


@pytest.fixture
def straight(seen):
    """All 12 steps of a training that was never stopped: 3 epochs of 23 samples."""
    return seen(0, None, 1, 0)


@pytest.mark.parametrize("size", range(1, 6))
def test_the_ranks_of_any_number_make_the_same_batches(size, seen, straight):
    assert len(straight) == 12
    assert seen(0, None, size, 0) == straight


@pytest.mark.parametrize("workers", range(1, 4))
def test_any_number_of_workers_makes_the_same_batches(workers, seen, straight):
    assert seen(0, None, 1, workers) == straight


def test_what_carries_a_gradient_comes_through_a_worker_too(tasks, dataset):
    whole = dataset(3)
    alone, sent = (
        next(Loader(tasks.Tracked(), whole, batch_size=3, epochs=1, seed=0, rank=0, size=1, workers=workers).batches(0))
        for workers in (0, 1)
    )
    assert torch.equal(alone.inputs, sent.inputs)


@pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="this system cannot be told what is read next")
def test_the_disk_is_asked_for_all_samples_of_a_step_before_the_first_is_read(tasks, dataset, monkeypatch):
    loader = Loader(tasks.Drawing(), dataset(8), batch_size=4, epochs=1, seed=0, rank=0, size=1, workers=0)
    calls = []
    for name in ("posix_fadvise", "pread"):
        original = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *words, name=name, call=original: calls.append(name) or call(*words))
    assert len(list(loader.batches(0))) == 2
    assert calls == 2 * (4 * ["posix_fadvise"] + 4 * ["pread"])


@pytest.mark.parametrize("stopped_at", [1, 4, 7, 11])
def test_a_training_that_goes_on_sees_what_it_had_not_and_nothing_else(stopped_at, seen, straight):
    for size in range(1, 6):
        assert seen(0, stopped_at, size, 0) + seen(stopped_at, None, size, 0) == straight


def test_four_ranks_then_two_then_three_see_the_samples_of_the_epoch(seen, straight):
    parts = [seen(0, 2, 4, 0), seen(2, 3, 2, 1), seen(5, None, 3, 2)]
    assert [step for part in parts for step in part] == straight


def test_no_sample_comes_twice_in_an_epoch_and_none_is_left_out(straight):
    for epoch in range(3):
        numbers = [int(sample[0]) for step in straight[4 * epoch : 4 * epoch + 4] for sample in step]
        assert sorted(numbers) == list(range(sum(LENGTHS)))


def test_a_sample_is_augmented_anew_in_each_epoch(straight):
    assert len({sample[1:] for step in straight for sample in step}) == 3 * sum(LENGTHS)


def test_a_rank_without_a_part_holds_a_sample_that_does_not_count(tasks, dataset):
    loaders = [
        Loader(tasks.Drawing(), dataset(2), batch_size=2, epochs=1, seed=0, rank=rank, size=3, workers=0)
        for rank in range(3)
    ]
    parts = [next(loader.batches(0)) for loader in loaders]
    assert [part.weight for part in parts] == [1.5, 1.5, 0]
    assert [len(part.inputs) for part in parts] == [1, 1, 1]


def test_a_training_that_is_done_has_no_more_batches(seen):
    assert seen(12, None, 2, 0) == seen(12, None, 1, 2) == []


def test_loading_leaves_the_callers_generators_alone(tasks, dataset):
    loader = Loader(tasks.Drawing(), dataset(5), batch_size=2, epochs=1, seed=0, rank=0, size=1, workers=0)
    seed_generators(9)
    wanted = torch.rand(3)
    seed_generators(9)
    drawn = torch.cat([torch.rand(1) for _ in loader.batches(0)])
    assert torch.equal(drawn, wanted)


def test_the_wait_for_data_is_counted(tasks, dataset):
    loader = Loader(tasks.Drawing(), dataset(5), batch_size=2, epochs=1, seed=0, rank=0, size=1, workers=0)
    batches = loader.batches(0)
    next(batches)
    first = loader.waited
    next(batches)
    assert 0 < first < loader.waited


@pytest.mark.parametrize("size", [1, 2, 5, 9])
def test_an_evaluation_has_each_sample_once_over_all_ranks_the_same_at_any_number(size, tasks, dataset):
    whole = dataset(3, 4)

    def judged(size):
        parts = [evaluation(tasks.Drawing(), whole, rank, size, batch_size=2) for rank in range(size)]
        return sorted(tuple(sample) for part in parts for inputs, _ in part for sample in inputs.tolist())

    assert [int(sample[0]) for sample in judged(size)] == list(range(7))
    assert judged(size) == judged(1)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_shard_that_is_cut_while_training_is_named(workers, tasks, dataset):
    whole = dataset(9)
    loader = Loader(tasks.Drawing(), whole, batch_size=2, epochs=1, seed=0, rank=0, size=1, workers=workers)
    whole.shards[0].write_bytes(b"")
    with pytest.raises(StepError, match="has become shorter since it was indexed") as caught:
        list(loader.batches(0))
    assert caught.value.exit_code == ExitCode.DATA
    assert caught.value.message.startswith(f"{whole.shards[0]}: ")


def test_a_shard_that_is_gone_is_an_accident_of_the_machine(tasks, dataset):
    whole = dataset(9)
    whole.shards[0].unlink()
    loader = Loader(tasks.Drawing(), whole, batch_size=2, epochs=1, seed=0, rank=0, size=1, workers=0)
    with pytest.raises(StepError, match="cannot be read: No such file") as caught:
        list(loader.batches(0))
    assert caught.value.exit_code == ExitCode.TEMPORARY
