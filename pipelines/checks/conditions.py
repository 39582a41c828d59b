"""Conditions: `when` as Argo will read it."""

import re
from collections.abc import Iterator

from argosy.pipelines.checks.view import View
from argosy.pipelines.errors import Problem, excerpt
from argosy.pipelines.expressions import when
from argosy.pipelines.expressions.errors import ExpressionError

FORM = 'write it as "{{tasks.NAME.outputs.parameters.answer}}" == "pass", both sides in quotes'
_TAG = re.compile(r"(?P<open>[\"']?)\{\{[^{}]*\}\}(?P<close>[\"']?)")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_HYPHENATED = re.compile(r"[A-Za-z_][\w.]*(?:-\w[\w.]*)+")


def readable(view: View) -> Iterator[Problem]:
    """Conditions can be read, whatever the tags in them will be replaced by."""
    for one in view.invocations:
        condition = one.body.get("when")
        if condition:
            yield from _problems(f"{one.where}.when", condition)


def _problems(where: str, condition: str) -> Iterator[Problem]:
    if "{{=" in condition:
        yield Problem(where, f"{excerpt(condition)} mixes two languages", FORM)
        return
    # A tag's place is taken by as many letters, so that columns stay true.
    plain = _TAG.sub(
        lambda tag: tag["open"] + "x" * (len(tag[0]) - len(tag["open"] + tag["close"])) + tag["close"], condition
    )
    bare = _QUOTED.sub(lambda quoted: " " * len(quoted[0]), plain)
    if word := _HYPHENATED.search(bare):
        # govaluate, which Argo uses, reads a hyphen as minus (argo: workflow/controller/steps.go:384).
        what = f"{word[0]} in column {word.start() + 1} is read as a subtraction"
        yield Problem(where, what, f'write "{word[0]}", in quotes')
        return
    try:
        when.parse(plain)
    except ExpressionError as error:
        yield Problem(where, f"{excerpt(condition)}: {error}", FORM)
