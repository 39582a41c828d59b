"""Which pushes start a run: the selector that Argo's server evaluates, over payloads of GitHub and GitLab."""

import pytest

from argosy.pipelines import OnPush
from argosy.pipelines.trigger import push_event

COMMIT = "1234567890abcdef1234567890abcdef12345678"
TAG = "fedcba0987654321fedcba0987654321fedcba09"
NONE = "0" * 40


def starts(event, **on_push):
    answer = event.evaluated(push_event.selector(OnPush(**on_push)))
    assert isinstance(answer, bool)
    return answer


def test_a_push_to_the_branch_starts_a_run(event):
    assert starts(event())


@pytest.mark.parametrize(
    ("pattern", "branch", "is_meant"),
    [
        ("main", "main", True),
        ("main", "mainline", False),
        ("main", "feature/main", False),
        ("release/*", "release/1.2", True),
        ("release/*", "release/1/2", False),
        ("release/*", "release/", True),
        ("release/**", "release/1/2", True),
        ("v1.?", "v1.2", True),
        ("v1.?", "v1x2", False),
        ("a+b|(c)$", "a+b|(c)$", True),
        ("a+b", "aab", False),
        ("*", "a\nb", True),
        ("main", "main\n", False),
        ("main", "$(touch x)", False),
        ("**", '$(touch x)"; {{workflow.name}}', True),
    ],
)
def test_a_branch_is_matched_from_end_to_end(event, pattern, branch, is_meant):
    assert starts(event(ref=f"refs/heads/{branch}"), branches=[pattern]) is is_meant


def test_a_character_beyond_the_first_plane_is_written_as_it_is(event):
    assert starts(event(ref="refs/heads/\U0001f680/x"), branches=["\U0001f680/*"])
    assert "\\ud83d" not in push_event.selector(OnPush(branches=["\U0001f680/*"]))


def test_a_tag_with_the_branchs_name_is_no_branch(event):
    assert not starts(event(ref="refs/tags/main"))


@pytest.mark.parametrize("paths", [[], ["nothing/**"]])
def test_a_tag_starts_a_run_whatever_it_touches(event, paths):
    assert starts(event(ref="refs/tags/v1", commits=[]), tags=["v*"], paths=paths)
    assert not starts(event(ref="refs/tags/w1", commits=[]), tags=["v*"], paths=paths)


def test_gitlabs_own_event_for_tags_counts(gitlab):
    assert starts(gitlab("Tag Push Hook", object_kind="tag_push", ref="refs/tags/v1"), tags=["v*"])


def test_an_annotated_tag_runs_the_commit_it_points_to(event):
    assert event(ref="refs/tags/v1", after=TAG).evaluated(push_event.REVISION) == COMMIT


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("github", {"after": NONE, "deleted": True, "head_commit": None, "commits": []}),
        ("github", {"after": NONE, "deleted": ..., "head_commit": None, "commits": []}),
        ("github", {"deleted": True}),
        ("gitlab", {"after": NONE, "checkout_sha": None, "commits": [], "total_commits_count": 0}),
    ],
)
def test_a_deleted_branch_starts_nothing(provider, name, changes):
    deleted = provider[name](**changes)
    assert not starts(deleted)
    assert not starts(deleted, paths=["dvc.lock"])


@pytest.mark.parametrize("kind", ["ping", "pull_request", "Merge Request Hook", "Pipeline Hook", "PUSH", ""])
def test_another_event_starts_nothing(event, kind):
    assert not starts(event(kind))


def test_a_request_without_an_events_header_starts_nothing(event):
    bare = event()
    bare.metadata = {}
    assert not starts(bare)


def test_another_repository_starts_nothing(event):
    other = {"full_name": "vision/cats", "name": "cats"}, {"path_with_namespace": "vision/cats"}
    assert not starts(event(repository=other[0], project=other[1]), repository="vision/digits")
    assert not starts(event(repository=..., project=...), repository="vision/digits")
    assert starts(event(), repository="Vision/Digits")
    renamed = {"full_name": "Vision/Digits"}, {"path_with_namespace": "Vision/Digits"}
    assert starts(event(repository=renamed[0], project=renamed[1]), repository="vision/digits")


@pytest.mark.parametrize(
    ("touched", "is_meant"),
    [
        ({"modified": ["dvc.lock"]}, True),
        ({"added": ["pipelines/new/digits.py"], "modified": []}, True),
        ({"removed": ["pipelines/digits.py"], "modified": []}, True),
        ({"modified": ["README.md", "docs/dvc.lock", "dvc.lock.bak", "dvcxlock"]}, False),
        ({"modified": ["pipelines"]}, False),
        ({"modified": ["deep/down/steps/a.py"]}, True),
        ({"modified": ["steps/a.py"]}, True),
        ({"modified": ["mysteps/a.py"]}, False),
    ],
)
def test_a_push_must_touch_one_of_the_paths(event, touched, is_meant):
    pushed = event(commits=[{"modified": ["README.md"]}, touched])
    assert starts(pushed, paths=["dvc.lock", "pipelines/**", "**/steps/*"]) is is_meant


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("github", {"commits": []}),
        ("github", {"commits": ...}),
        ("github", {"forced": True}),
        ("github", {"commits": [{}] * 2048}),
        ("gitlab", {"commits": []}),
        ("gitlab", {"total_commits_count": 21}),
    ],
)
def test_a_push_that_may_have_touched_the_paths_starts_a_run(provider, name, changes):
    assert starts(provider[name](**changes), paths=["nowhere/**"])


def test_a_forced_push_starts_a_run(github):
    assert starts(github(forced=True))


def test_commits_without_lists_of_paths_touch_nothing(event):
    bare = {"added": ..., "modified": ..., "removed": ...}
    assert not starts(event(commits=[bare, bare]), paths=["dvc.lock"])


def test_an_absent_field_is_no_error(event):
    for field in event().payload:
        lacking = event(**{field: ...})
        for on_push in ({}, {"paths": ["dvc.lock"]}, {"tags": ["v*"], "repository": "vision/digits"}):
            starts(lacking, **on_push)
        assert lacking.evaluated(push_event.REVISION) == COMMIT


def test_an_empty_payload_starts_nothing(github):
    empty = github()
    empty.payload = {}
    assert not starts(empty, repository="vision/digits", paths=["x"], tags=["*"])


@pytest.mark.parametrize("after", ["HEAD", "", "1234", COMMIT.upper(), COMMIT + "\n", "a" * 41, "$(id)".ljust(40, "a")])
def test_what_is_no_commit_starts_nothing(event, after):
    assert not starts(event(after=after, checkout_sha=..., head_commit=...))


def test_a_commit_of_sha256_starts_a_run(event):
    long = "ab" * 32
    assert starts(event(after=long, checkout_sha=..., head_commit=...))
