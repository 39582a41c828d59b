"""One object out of a store, whole in memory."""

import hashlib

from argosy.steps.stage import complaints, loop
from argosy.steps.stage.complaints import Lack
from argosy.steps.stage.failures import Denied, ObjectFailure, StoreFailure, Wrong
from argosy.steps.stage.pace import ATTEMPTS, TIMES, Pace
from argosy.steps.stage.store import Store

EVERYTHING = 1 << 40


def whole(store: Store, path: str, md5: str, attempts: int = ATTEMPTS) -> memoryview:
    """An object's verified bytes; `path` names it in messages, and its md5 may end in `.dir`.

    Raises StepError: DATA when it is missing or damaged, and as `complaints.of_store` says when it cannot be read.
    """
    try:
        return loop.run(_whole(store, md5, attempts))
    except Denied as failure:
        raise complaints.of_store(store, failure) from None
    except ObjectFailure as failure:
        raise complaints.of_objects([Lack(path, md5, store, failure)]) from None
    except StoreFailure as failure:
        raise complaints.of_store(store, failure) from None


async def _whole(store: Store, md5: str, attempts: int) -> memoryview:
    pace = Pace(connections=1, attempts=attempts)
    for _ in range(TIMES):
        content = await pace.asked(lambda: store.read(md5, 0, EVERYTHING))
        found = hashlib.md5(content, usedforsecurity=False).hexdigest()
        if found == md5.removesuffix(".dir"):
            return content
    raise Wrong(f"has md5 {found}")
