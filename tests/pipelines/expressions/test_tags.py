import json
import time

import pytest

from argosy.pipelines.expressions.errors import ExpressionError, UnresolvedTag, UnsupportedExpression
from argosy.pipelines.expressions.tags import substitute, substitute_tree, tag_names

SCOPE = {f"inputs.parameters.p{number}": f"value {number}" for number in range(30)}


def test_a_tree_without_tags_is_the_same_object():
    tree = {"args": ["plain", {"nested": ["}}", "{", 1, None]}]}
    assert substitute_tree(tree, SCOPE) is tree


def test_a_tree_with_tags_is_left_as_it_was():
    tree = {"args": ["{{inputs.parameters.p1}}"]}
    assert substitute_tree(tree, SCOPE) == {"args": ["value 1"]}
    assert tree == {"args": ["{{inputs.parameters.p1}}"]}


@pytest.mark.parametrize("prefixes", [("tasks",), ("steps", "tasks")])
@pytest.mark.parametrize(
    "tag", ["tasks.A.outputs.result", "=tasks.A.outputs.result + 'x'", "=asInt(tasks.A.outputs.result)"]
)
def test_a_strict_tag_without_value_names_what_is_missing(tag, prefixes):
    with pytest.raises(UnresolvedTag) as caught:
        substitute(f"--x={{{{{tag}}}}}", SCOPE, prefixes)
    assert caught.value.tag == "tasks.A.outputs.result"


def test_an_unsupported_function_is_never_left_for_later():
    with pytest.raises(UnsupportedExpression, match=r"sprig\.title"):
        substitute("{{=sprig.title(inputs.parameters.p1)}}", SCOPE)


@pytest.mark.parametrize("text", ["{{open", "{{=1 +}}", "{{=(}}"])
def test_what_can_never_be_read_is_an_error_at_once(text):
    with pytest.raises(ExpressionError):
        substitute(text, SCOPE)


def test_tag_names_come_in_order_with_the_expressions_as_written():
    tree = {"a": ["{{ x }}", '{{=y + "z"}}'], "b{{c}}": "{{x}}"}
    assert tag_names(tree) == ["x", '=y + "z"', "c", "x"]


def test_a_template_of_forty_tags_costs_a_few_json_round_trips():
    tree = {"args": [f"--x{number}={{{{inputs.parameters.p{number % 30}}}}}" for number in range(40)]}
    assert _seconds(lambda: substitute_tree(tree, SCOPE)) < 10 * _seconds(lambda: json.loads(json.dumps(tree)))


def _seconds(work):
    def once():
        start = time.perf_counter()
        for _ in range(50):
            work()
        return time.perf_counter() - start

    return min(once() for _ in range(10))
