"""What a webhook says of a push, as expressions that Argo's server evaluates: expr-lang over `payload` and `metadata`.

GitHub's payload and GitLab's have the same words for nearly everything, so one expression reads both
(https://docs.github.com/en/webhooks/webhook-events-and-payloads#push,
https://docs.gitlab.com/user/project/integrations/webhook_events/#push-events). Any field may be absent, any text may
be hostile: nothing of a payload leaves these expressions but a commit's hexadecimal digits and clipped text for
annotations.
"""

import json
from collections.abc import Sequence

from argosy.pipelines.push import OnPush, expression

NAME_DIGITS = 12
"""Digits of the commit in a run's name."""

TITLE_DIGITS = 7
"""Digits of the commit in a run's title."""

CLIPPED = 200
"""Characters of a branch, an author or a message that an annotation shows."""

COMMITS_LISTED = 2048
"""The most commits that GitHub's payload lists; GitLab's says itself how many there are."""

EVENT = 'let event = first(metadata["x-github-event"] ?? metadata["x-gitlab-event"] ?? []) ?? "";'
REF = 'let ref = payload.ref ?? "";'
COMMIT = 'let commit = payload.checkout_sha ?? payload.head_commit?.id ?? payload.after ?? "";'
"""Of an annotated tag `after` is the tag itself, so what it points to comes first."""

COMMITS = "let commits = payload.commits ?? [];"
REPOSITORY = 'let repository = payload.repository?.full_name ?? payload.project?.path_with_namespace ?? "";'
HEAD = "let head = payload.head_commit ?? last(payload.commits ?? []);"

REVISION = f"{COMMIT} commit"
BRANCH = f'{REF} trimPrefix(trimPrefix(ref, "refs/heads/"), "refs/tags/")'
AUTHOR = f'{HEAD} head?.author?.name ?? payload.user_name ?? ""'
MESSAGE = f'{HEAD} split(head?.message ?? "", "\\n")[0]'


def text(value: str) -> str:
    """A text as a literal of the language, which knows no pairs of surrogates (expr-lang: parser/lexer/utils.go)."""
    return json.dumps(value, ensure_ascii=False)


def run_name(pipeline: str) -> str:
    """The name of the run of a commit: the same for every delivery, so that Kubernetes refuses the second."""
    return f"{COMMIT} {text(f'{pipeline}-')} + commit[:{NAME_DIGITS}]"


def title(title: str) -> str:
    """A title that tells commits apart."""
    return f"{COMMIT} {text(f'{title} ')} + commit[:{TITLE_DIGITS}]"


def clipped(value: str) -> str:
    """An expression's text, cut between two characters."""
    return f'join(split(({value}), "")[:{CLIPPED}], "")'


def _quoted(value: str) -> str:
    """An expression's text as Markdown that shows it as it is."""
    return f'"`" + replace({clipped(value)}, "`", "\'") + "`"'


DESCRIPTION = f'"push to " + {_quoted(BRANCH)} + " by " + {_quoted(AUTHOR)} + ": " + {_quoted(MESSAGE)}'
"""The line below the title in the Argo UI, which renders Markdown."""


def selector(on_push: OnPush) -> str:
    """Whether an event is a push that starts a run."""
    conditions = [
        'event in ["push", "Push Hook", "Tag Push Hook"]',
        "payload.deleted != true",
        'commit matches "^([0-9a-f]{40}|[0-9a-f]{64})$"',
        'not (commit matches "^0+$")',
        *([f"lower(repository) == {text(on_push.repository.lower())}"] if on_push.repository else []),
        " || ".join(_refs(on_push)),
    ]
    return "\n".join([EVENT, REF, COMMIT, COMMITS, REPOSITORY, " &&\n".join(f"({one})" for one in conditions)])


def _refs(on_push: OnPush) -> list[str]:
    """What must be pushed to, one of several."""
    branches = [f"{_fits('ref', 'refs/heads/', on_push.branches)}"] if on_push.branches else []
    if on_push.paths:
        branches = [f"{branches[0]} && ({_touches(on_push.paths)})"]
    return branches + ([_fits("ref", "refs/tags/", on_push.tags)] if on_push.tags else [])


def _fits(value: str, beginning: str, patterns: Sequence[str]) -> str:
    return f"{value} matches {text(f'^{beginning}{expression(patterns)}$')}"


def _touches(paths: Sequence[str]) -> str:
    """Whether a push touches one of the paths, as far as its payload tells; where it does not tell, it may have.

    It does not tell of commits that a forced push removed, of a branch that begins at a known commit, and of commits
    beyond those it lists. A run too many is refused by its name or harmless, one too few goes unnoticed.
    """
    touched = "concat(.added ?? [], .modified ?? [], .removed ?? [])"
    return " || ".join(
        [
            "payload.forced == true",
            "len(commits) == 0",
            f"len(commits) >= {COMMITS_LISTED}",
            "(payload.total_commits_count ?? 0) > len(commits)",
            f"any(commits, any({touched}, {_fits('#', '', paths)}))",
        ]
    )
