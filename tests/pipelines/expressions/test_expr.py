import pytest

from argosy.pipelines.expressions import expr
from argosy.pipelines.expressions.errors import ExpressionError, UnsupportedExpression

BRACKETS = "[" * 900 + "]" * 900


@pytest.mark.parametrize(
    ("expression", "column"),
    [
        ("1 +", 3),
        ("a b", 3),
        ("'open", 1),
        ("len(x, 1)", 1),
        ("1 + unknown", 5),
        ("x > 1", 3),
        ("true ? 1 : x > 1", 14),
    ],
)
def test_an_error_has_the_column(expression, column):
    with pytest.raises(ExpressionError) as caught:
        expr.evaluate(expression, {"x": "text"})
    assert caught.value.column == column


@pytest.mark.parametrize("expression", ["sprig.title('a')", "now()", "groupBy([1], #)", "$env", "'x' matches '\\\\pL'"])
def test_what_is_not_supported_says_so(expression):
    with pytest.raises(UnsupportedExpression, match="unsupported"):
        expr.evaluate(expression, {})


@pytest.mark.parametrize(
    "expression",
    [
        "(" * 5000 + "1" + ")" * 5000,
        "-" * 5000 + "1",
        "1" + "+1" * 5000,
        "x" + ".y" * 3000,
        "true ? " * 3000,
        "if true {" * 2000,
        "let a = " * 2000,
        f"fromJSON('{BRACKETS}') == fromJSON('{BRACKETS}')",
        f"toJSON(fromJSON('{BRACKETS}'))",
        "jsonpath('[1]', '$[?(" + "!" * 3000 + "@)]')",
        "'a' matches '" + "(" * 3000 + "'",
    ],
)
def test_hostile_depth_is_an_error(expression):
    with pytest.raises(ExpressionError):
        expr.evaluate(expression, {"x": {}})


def test_a_chain_of_thousands_of_conditions_is_evaluated():
    assert expr.evaluate(" && ".join(["x.y"] * 2000), {"x": {"y": True}}) is True


@pytest.mark.parametrize(
    ("value", "text"), [("a<b", "a<b"), (True, "true"), (1e21, "1e+21"), ([1, "<"], '[1,"\\u003c"]')]
)
def test_a_result_is_written_as_argo_inserts_it(value, text):
    assert expr.format_result(value) == text
