"""Pushes as GitHub and GitLab tell of them. What Argo's server makes of them is evaluated here."""

import pytest

from argosy.pipelines.expressions import expr

COMMIT = "1234567890abcdef1234567890abcdef12345678"
BEFORE = "0000111122223333444455556666777788889999"
COMMON = {
    "id": COMMIT,
    "message": "New data\n\nTwice as much",
    "author": {"name": "Ada Lovelace", "email": "ada@example.org"},
    "timestamp": "2026-01-01T00:00:00Z",
    "added": [],
    "modified": ["dvc.lock"],
    "removed": [],
}


def changed(original, changes):
    """`...` leaves a field out."""
    return {key: value for key, value in {**original, **changes}.items() if value is not ...}


class Event:
    """A webhook as Argo's server sees it. Commits that are given are completed to whole ones."""

    def __init__(self, header, kind, payload, changes):
        if isinstance(given := changes.get("commits"), list):
            changes["commits"] = [changed(COMMON, one) for one in given]
        self.payload = changed(payload, changes)
        self.metadata = {header: [kind], "x-forwarded-for": ["192.0.2.1"]}

    def evaluated(self, expression):
        variables = {"namespace": "team", "discriminator": "push", "payload": self.payload, "metadata": self.metadata}
        return expr.evaluate(expression, variables)


def of_github(kind="push", **changes):
    payload = {
        "ref": "refs/heads/main",
        "before": BEFORE,
        "after": COMMIT,
        "created": False,
        "deleted": False,
        "forced": False,
        "compare": "https://github.example.org/vision/digits/compare/0000...1234",
        "commits": [COMMON],
        "head_commit": COMMON,
        "repository": {"id": 1, "name": "digits", "full_name": "vision/digits", "private": True},
        "pusher": {"name": "ada", "email": "ada@example.org"},
    }
    return Event("x-github-event", kind, payload, changes)


def of_gitlab(kind="Push Hook", **changes):
    payload = {
        "object_kind": "push",
        "event_name": "push",
        "ref": "refs/heads/main",
        "before": BEFORE,
        "after": COMMIT,
        "checkout_sha": COMMIT,
        "user_name": "Ada Lovelace",
        "project": {"id": 1, "name": "digits", "path_with_namespace": "vision/digits"},
        "repository": {"name": "digits", "url": "git@gitlab.example.org:vision/digits.git"},
        "commits": [{**COMMON, "modified": ["README.md"]}, COMMON],
        "total_commits_count": 2,
    }
    return Event("x-gitlab-event", kind, payload, changes)


BUILDERS = {"github": of_github, "gitlab": of_gitlab}


@pytest.fixture
def github():
    """Makes a push as GitHub tells of it. What is given replaces the payload's field; `...` leaves it out."""
    return of_github


@pytest.fixture
def gitlab():
    return of_gitlab


@pytest.fixture
def provider():
    """Makes a push of the provider that is named."""
    return BUILDERS


@pytest.fixture(params=BUILDERS.values(), ids=BUILDERS)
def event(request):
    """Makes a push of either provider."""
    return request.param
