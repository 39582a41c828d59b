"""What a store's failure means to whoever waits for the data."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError, configuration_error, data_error
from argosy.steps.stage.failures import Denied, Keyless, Missing, ObjectFailure, Passing, StoreFailure, Unauthorized
from argosy.steps.stage.store import Store

NAMED_AT_MOST = 10


@dataclass(frozen=True, slots=True)
class Lack:
    """An object that cannot be had."""

    path: str
    md5: str
    store: Store
    failure: ObjectFailure

    def __str__(self) -> str:
        return f"{self.path} ({self.md5})"


def of_store(store: Store, failure: StoreFailure) -> StepError:
    """CONFIGURATION where a store may not or cannot be read, TEMPORARY where it does not answer."""
    if isinstance(failure, (Keyless, Unauthorized, Denied)):
        return configuration_error(f"{store.name}: may not be read: {failure}; {store.remedy}")
    if isinstance(failure, Passing):
        return StepError(ExitCode.TEMPORARY, f"{store.name}: does not answer: {failure}")
    return configuration_error(f"{store.name}: cannot be read: {failure}")


def of_objects(lacks: Sequence[Lack]) -> StepError:
    """DATA, with what to do about each kind of lack. Those that one line cannot name are all on stderr."""
    kinds = (
        ("lacks", [one for one in lacks if isinstance(one.failure, Missing)], "run `dvc push` where the data is"),
        (
            "denies",
            [one for one in lacks if isinstance(one.failure, Denied)],
            "it may lack what it denies: run `dvc push` where the data is, or allow this account to read it",
        ),
    )
    told = [f"{found[0].store.name} {verb} {_named(found)}; {remedy}" for verb, found, remedy in kinds if found]
    rest = [one for one in lacks if not isinstance(one.failure, (Missing, Denied))]
    if rest:
        first = rest[0]
        where = f"{first.store.place(first.md5)} {first.failure}"
        remedy = "remove what is damaged there, and run `dvc push` where the data is whole"
        told.append(f"{first.store.name} has other bytes for {_named(rest)}: {where}; {remedy}")
    if len(lacks) > NAMED_AT_MOST:
        sys.stderr.writelines(f"{one}: {one.store.place(one.md5)}: {one.failure}\n" for one in lacks)
    return data_error("; ".join(told))


def _named(lacks: Sequence[Lack]) -> str:
    more = f" and {len(lacks) - NAMED_AT_MOST:,} more, all named above" if len(lacks) > NAMED_AT_MOST else ""
    return ", ".join(map(str, lacks[:NAMED_AT_MOST])) + more
