"""The queue of publishers: who waits for whom, and for how long."""

from types import SimpleNamespace

import pytest

from argosy.steps.publish import step, turn
from argosy.steps.publish.tags import ALIAS, DECISION, LEASE, Decision
from argosy.steps.publish.versions import Version, Versions


class Clock:
    """Seconds that pass only when somebody waits."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


class Registry:
    """Version 1's publisher shows a sign of life every second until `silent_from`, and is decided at `decided_at`."""

    def __init__(self, clock, *, silent_from=float("inf"), decided_at=float("inf"), alias="champion"):
        self.clock, self.silent_from, self.decided_at, self.alias = clock, silent_from, decided_at, alias
        self.decisions = {}

    def all(self):
        lease = str(int(min(self.clock.now, self.silent_from)))
        tags = {ALIAS: self.alias, LEASE: lease}
        if self.clock.now >= self.decided_at:
            tags[DECISION] = Decision.CHAMPION
        if 1 in self.decisions:
            tags[DECISION] = self.decisions[1]
        return [Version(1, "run", "place", tags), Version(2, "run", "place", {ALIAS: "champion"})]

    def decide(self, number, decision, _reason):
        self.decisions[number] = decision


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(turn, "time", SimpleNamespace(monotonic=clock.monotonic, sleep=clock.sleep))
    return clock


def test_a_publisher_that_shows_signs_of_life_is_waited_for_however_long_it_takes(clock):
    registry = Registry(clock, decided_at=100 * turn.SILENCE_SECONDS)
    turn.wait(registry, 2, "champion")
    assert clock.now >= 100 * turn.SILENCE_SECONDS
    assert not registry.decisions


def test_one_that_falls_silent_is_passed_over_after_the_silence_and_not_before(clock):
    registry = Registry(clock, silent_from=30)
    turn.wait(registry, 2, "champion")
    assert 0 <= clock.now - (30 + turn.SILENCE_SECONDS) <= 3 * turn.LOOK_SECONDS
    assert registry.decisions == {1: Decision.PASSED_OVER}


@pytest.mark.parametrize(("number", "alias"), [(1, "champion"), (2, "staging")])
def test_later_versions_and_those_for_another_alias_are_not_waited_for(clock, number, alias):
    turn.wait(Registry(clock), number, alias)
    assert clock.now == 0


def test_a_version_shows_signs_of_life_while_it_is_decided_and_none_after(inputs, mlflow_client, monkeypatch):
    step.run(inputs())
    versions = Versions(mlflow_client, "digits")
    monkeypatch.setattr(turn, "SILENCE_SECONDS", 0.2)
    signs = set()
    with turn.alive(versions, 1):
        while len(signs) < 3:
            signs.add(versions.all()[0].tags[LEASE])
    assert len(signs) == 3
