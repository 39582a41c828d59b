"""The noun: what it takes, and what it says of what it does not take."""

import re

import pytest

from argosy.pipelines import OnPush
from argosy.pipelines.errors import SpecError
from argosy.pipelines.push import expression

MISTAKES = {
    "nothing": ({"branches": []}, "OnPush: no branch and no tag starts a run; give branches=['main']"),
    "a whole ref": ({"branches": ["refs/heads/main"]}, "OnPush.branches[0]: 'refs/heads/main' matches no name as git"),
    "a tag's whole ref": ({"tags": ["refs/tags/v*"]}, "write 'v*'"),
    "a folder": ({"paths": ["data/"]}, "'data/' matches no name as git writes it; write 'data/**'"),
    "an absolute path": ({"paths": ["/data/x"]}, "write 'data/x'"),
    "a negation": ({"branches": ["!main"]}, "'!main' holds '!'; write names with *, ** and ?"),
    "a class": ({"branches": ["v[0-9]"]}, "'v[0-9]' holds '['"),
    "a tag of Argo's": ({"branches": ["{{x}}"]}, "holds '{'"),
    "a backslash": ({"paths": ["a\\b"]}, "holds '\\\\'"),
    "a line": ({"branches": ["main\n"]}, "holds '\\n'"),
    "no text": ({"branches": [""]}, "is empty, or begins or ends with a space"),
    "one text": ({"branches": "main"}, "OnPush.branches"),
    "an address": (
        {"repository": "https://x.example.org/a"},
        "give the repository's whole name, such as 'vision/digits'",
    ),
    "paths of tags": ({"branches": [], "tags": ["v*"], "paths": ["x"]}, "there are none; leave paths out"),
    "an unknown field": ({"branch": "main"}, "OnPush.branch: OnPush has no such field; did you mean branches?"),
}


@pytest.mark.parametrize(("given", "told"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_told_with_its_remedy(given, told):
    with pytest.raises(SpecError, match=re.escape(told)):
        OnPush(**given)


def test_without_anything_it_is_the_main_branch():
    assert list(OnPush().branches) == ["main"]


def test_an_expression_needs_no_backslash_and_no_quote():
    assert not set('\\"') & set(expression(["a.b+c$d|e(f)", "data/**", "it's?"]))
