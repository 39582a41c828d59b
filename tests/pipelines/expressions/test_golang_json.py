"""A text that is no JSON is told of as Go tells it: the right sides were printed by encoding/json."""

import json

import pytest

from argosy.pipelines.expressions.golang_json import json_problem


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "unexpected end of JSON input"),
        ("[1,", "unexpected end of JSON input"),
        ('["abc', "unexpected end of JSON input"),
        ("hello", "invalid character 'h' looking for beginning of value"),
        ("  x", "invalid character 'x' looking for beginning of value"),
        ("'a'", r"invalid character '\'' looking for beginning of value"),
        ("é", "invalid character 'Ã' looking for beginning of value"),
        ("no list", "invalid character 'o' in literal null (expecting 'u')"),
        ("falsy", "invalid character 'y' in literal false (expecting 'e')"),
        ("tru", "invalid character ' ' in literal true (expecting 'e')"),
        ('{"a" 1}', "invalid character '1' after object key"),
        ("{a:1}", "invalid character 'a' looking for beginning of object key string"),
        ('["a\nb"]', r"invalid character '\n' in string literal"),
        ("[1] x", "invalid character 'x' after top-level value"),
    ],
)
def test_a_text_that_is_no_json_is_told_of_in_gos_words(text, problem):
    with pytest.raises(json.JSONDecodeError) as raised:
        json.loads(text)
    assert json_problem(text, raised.value) == problem
