"""YAML as Argo reads it."""

import pytest

from argosy.pipelines.documents import DocumentError, load_all


def load(text):
    (document,) = load_all(text)
    return document


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2024-01-01", "2024-01-01"),
        ("12:30", "12:30"),
        ("on", True),
        ("y", True),
        ("N", False),
        ("'y'", "y"),
        ("yo", "yo"),
        ("0x1F", 31),
        ("1e3", 1000.0),
        ("1_000", 1000),
        (".5", 0.5),
        ("v1.2.3", "v1.2.3"),
        ("'1'", "1"),
        ("~", None),
    ],
)
def test_scalars_mean_what_they_mean_to_argo(text, value):
    assert load(f"value: {text}") == {"value": value}


def test_keys_are_text_whatever_they_look_like():
    assert load("{x: 1, y: 2, 3: 4}") == {"x": 1, "true": 2, "3": 4}


def test_a_key_that_is_given_twice_is_named_with_its_line():
    with pytest.raises(DocumentError, match=r"line 3, column 1: entrypoint is given twice"):
        load("entrypoint: a\nother: b\nentrypoint: c\n")


def test_a_merged_key_may_be_given_again():
    assert load("a: &a {x: 1, z: 2}\nb: {<<: *a, x: 3}\n")["b"] == {"x": 3, "z": 2}


def test_a_mistake_is_told_with_its_line():
    with pytest.raises(DocumentError, match="line 2"):
        load("a: [1,\n}")
