from types import SimpleNamespace

import pytest

from argosy.pipelines.expressions import depends
from argosy.pipelines.expressions.depends import TaskResult
from argosy.pipelines.expressions.errors import ExpressionError


@pytest.mark.parametrize("result", TaskResult._fields)
@pytest.mark.parametrize("error", [False, True])
@pytest.mark.parametrize("failed", [False, True])
def test_a_bare_name_passes_what_its_task_may_end_with(result, error, failed):
    passing = {"Succeeded", "Skipped", "Daemoned", *(["Errored"] * error), *(["Failed"] * failed)}
    policy = {"a-1": SimpleNamespace(error=error, failed=failed)}
    ended = {"a-1": TaskResult(**{result: True})}
    assert depends.evaluate("a-1", ended, policy) == (result in passing)
    assert depends.evaluate(depends.from_dependencies(["a-1"], policy), ended) == (result in passing)


def test_names_come_once_and_in_order():
    assert depends.names("b-2.Failed || (!A && b-2) || C.AnySucceeded") == ["b-2", "A", "C"]


def test_names_of_items_are_those_asked_for_what_only_items_have():
    assert depends.names_of_items("A.AnySucceeded && B.Failed || A.AllFailed && C") == ["A"]


@pytest.mark.parametrize(("text", "column"), [("A.Wrong", 3), ("a-b && ", 7), ("A && (B", 7), ("A &! B", 3)])
def test_an_error_has_the_column(text, column):
    with pytest.raises(ExpressionError) as caught:
        depends.parse(text)
    assert caught.value.column == column


@pytest.mark.parametrize("count", [833, 834])
def test_more_dependencies_than_argo_can_compile_are_refused(count):
    names = [f"t{number}" for number in range(count)]
    logic = depends.from_dependencies(names)
    results = dict.fromkeys(names, TaskResult(Succeeded=True))
    if count == 833:
        assert depends.evaluate(logic, results)
    else:
        with pytest.raises(ExpressionError, match="maximum allowed nodes"):
            depends.evaluate(logic, results)
