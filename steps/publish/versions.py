"""The versions of a registered model: one for each run, in the order in which they were registered.

A version appears in one call, with its tags: either it can be found by its run's uid, or it does not exist. Two
publishers of one run, or a server that does a request twice, may make two; then the lowest number counts. No one sees a
higher one without it, as MLflow numbers a version after those that are there, so a publisher that sees both removes the
higher.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from argosy.steps.publish.tags import ALIAS, DECISION, LONGEST, REASON, RUN_UID, Decision

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import LoggedModel
    from mlflow.entities.model_registry import ModelVersion


@dataclass(frozen=True)
class Version:
    number: int
    run_id: str
    """Of MLflow's run; empty: it was registered by hand, without one."""
    location: str
    """Where its files are, a URI."""
    tags: Mapping[str, str]

    @property
    def run_uid(self) -> str | None:
        """None: no run of argosy's has registered it. MLflow's own copy of a version has that one's tags."""
        return None if self.location.startswith("models:/") else self.tags.get(RUN_UID)

    @property
    def decision(self) -> Decision | None:
        """None: it awaits its turn, or it was published before there were turns, or by hand."""
        return next((one for one in Decision if one == self.tags.get(DECISION)), None)

    @property
    def reason(self) -> str:
        """Why that was decided."""
        return self.tags.get(REASON, "")

    @property
    def awaits_turn(self) -> bool:
        return ALIAS in self.tags and self.decision is None

    def is_for(self, alias: str) -> bool:
        """Whether it was published for this alias."""
        return self.tags.get(ALIAS) == alias


class Versions:
    """Those of one registered model."""

    def __init__(self, client: "MlflowClient", name: str) -> None:
        self.client = client
        self.name = name

    def all(self) -> list[Version]:
        """One for each run, lowest number first."""
        return self._split()[0]

    def remove_duplicates(self) -> None:
        """The further ones of each run are gone when this returns."""
        for one in self._split()[1]:
            self._remove(one.number)

    def _split(self) -> tuple[list[Version], list[Version]]:
        """Those that count, and the others."""
        found = sorted(map(_version, self._found()), key=lambda one: one.number)
        first: dict[str, Version] = {}
        counts, others = list[Version](), list[Version]()
        for one in found:
            is_first = one.run_uid is None or first.setdefault(one.run_uid, one) is one
            (counts if is_first else others).append(one)
        return counts, others

    def of(self, run_uid: str) -> Version | None:
        """The one that this run has published, if it has."""
        return next((one for one in self.all() if one.run_uid == run_uid), None)

    def register(self, logged: "LoggedModel", tags: dict[str, str]) -> Version:
        """The run's version: a new one with these files, unless another publisher of the run was faster."""
        from mlflow.exceptions import MlflowException

        try:
            self.client.create_registered_model(self.name)
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise
        made = self.client.create_model_version(
            self.name, logged.artifact_location, logged.source_run_id, tags=tags, model_id=logged.model_id
        )
        self.remove_duplicates()
        return self.of(tags[RUN_UID]) or _version(made)

    def holder(self, alias: str) -> int | None:
        """Number of the version that the alias is at."""
        from mlflow.exceptions import MlflowException

        try:
            found = self.client.get_registered_model(self.name).aliases.get(alias)
        except MlflowException as error:
            if error.error_code != "RESOURCE_DOES_NOT_EXIST":
                raise
            return None
        return None if found is None else int(found)

    def point(self, alias: str, number: int) -> None:
        """Moves the alias there."""
        self.client.set_registered_model_alias(self.name, alias, str(number))

    def tag(self, number: int, name: str, value: str) -> None:
        self.client.set_model_version_tag(self.name, str(number), name, value[:LONGEST])

    def decide(self, number: int, decision: Decision, reason: str) -> None:
        """Says what became of a version: the reason first, since the decision makes it count."""
        self.tag(number, REASON, reason)
        self.tag(number, DECISION, decision)

    def _found(self) -> "list[ModelVersion]":
        page = self.client.search_model_versions(f"name = '{self.name}'")
        found = list(page)
        while page.token:
            page = self.client.search_model_versions(f"name = '{self.name}'", page_token=page.token)
            found += page
        return found

    def _remove(self, number: int) -> None:
        from mlflow.exceptions import MlflowException

        try:
            self.client.delete_model_version(self.name, str(number))
        except MlflowException as error:
            if error.error_code != "RESOURCE_DOES_NOT_EXIST":
                raise


def _version(found: "ModelVersion") -> Version:
    return Version(int(found.version), found.run_id or "", found.source or "", found.tags)
