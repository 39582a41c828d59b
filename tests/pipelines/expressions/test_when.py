import pytest

from argosy.pipelines.expressions import when
from argosy.pipelines.expressions.errors import ExpressionError


@pytest.mark.parametrize(
    ("expression", "column"),
    [
        ("a == b &&!c", 8),
        ("hello world == a", 7),
        ("'open", 1),
        ("a.b == a", 1),
        ("!a", 2),
        ("a == 'b' =! c", 10),
        ("a =~ '('", 6),
    ],
)
def test_a_compile_time_error_has_the_column(expression, column):
    with pytest.raises(ExpressionError) as caught:
        when.parse(expression)
    assert caught.value.column == column
    assert str(caught.value).endswith(f"(column {column})")


def test_a_run_time_error_has_argos_words_alone():
    with pytest.raises(ExpressionError) as caught:
        when.evaluate("a = b")
    hint = '(hint: try wrapping the affected expression in quotes ("))'
    assert str(caught.value) == f"Invalid 'when' expression 'a = b': Invalid token: '=' {hint}"


@pytest.mark.parametrize("expression", ["(" * 5000 + "a" + ")" * 5000, "a == b" + " && a == b" * 5000])
def test_hostile_depth_is_an_error(expression):
    with pytest.raises(ExpressionError, match="too deep"):
        when.evaluate(expression)
