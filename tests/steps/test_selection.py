"""Which files of a dataset are staged."""

import pytest

from argosy.steps.cache.entry import Entry
from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.pins import PinnedSource, Remote
from argosy.steps.stage.selection import divided, selected

NAMES = ["a/train-00.tar", "train-01.tar", "train-02.tar", "test-00.tar", "notes+[1].txt", "a/b/c.txt"]


def chosen(*patterns, part="", names=NAMES):
    source = PinnedSource(path="data", hash="0" * 32 + ".dir", only=patterns, remote=Remote(name="r", url="x"))
    return [one.path for one in divided(selected(source, [Entry(name, "0" * 32) for name in names]), part)]


@pytest.mark.parametrize(
    ("patterns", "files"),
    [
        ((), NAMES),
        (("train-*.tar",), ["train-01.tar", "train-02.tar"]),
        (("**/train-*.tar",), ["a/train-00.tar", "train-01.tar", "train-02.tar"]),
        (("a/**",), ["a/train-00.tar", "a/b/c.txt"]),
        (("*.txt", "test-0?.tar"), ["test-00.tar", "notes+[1].txt"]),
        (("notes+[1].txt",), ["notes+[1].txt"]),
    ],
)
def test_files_that_fit_a_pattern_are_chosen_in_their_order(patterns, files):
    assert chosen(*patterns) == files


def test_a_pattern_that_fits_nothing_is_refused_with_names_that_are_near():
    with pytest.raises(StepError, match=r"no file fits 'trian-\*.tar'; it has .*train-0") as caught:
        chosen("train-*.tar", "trian-*.tar")
    assert caught.value.exit_code == ExitCode.DATA


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_parts_divide_the_training_shards_and_share_everything_else(count):
    shards = [f"x/train-{number:02}.tar" for number in range(7)]
    parts = [chosen(part=f"{index}/{count}", names=[*shards, "test-00.tar"]) for index in range(count)]
    assert [name for part in parts for name in part if "train" in name] == shards
    assert all("test-00.tar" in part for part in parts)
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 1


def test_fewer_shards_than_parts_are_refused():
    with pytest.raises(StepError, match=r"has 3 training shards \(train-\*.tar\) for 4 nodes"):
        chosen(part="0/4")


def test_a_part_that_is_none_is_refused():
    with pytest.raises(StepError, match="the parts of 2 are 0 to 1"):
        chosen(part="2/2")


@pytest.mark.parametrize("name", ["x[1].tar", "a^b", "a\\b", "{c}", "(d|e)$", "a+b.c", "new\nline"])
def test_what_means_something_in_an_expression_is_taken_literally(name):
    assert chosen(name, names=[name, "x1.tar", "ab", "c", "d", "aab_c"]) == [name]
