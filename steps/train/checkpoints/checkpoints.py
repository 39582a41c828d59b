"""The checkpoints of a training: saved while it goes on, and taken up again at any number of ranks."""

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from torch import Tensor

from argosy.steps.errors import StepError, configuration_error
from argosy.steps.stage.failures import ObjectFailure
from argosy.steps.train.checkpoints import loading
from argosy.steps.train.checkpoints.image import Image
from argosy.steps.train.checkpoints.manifest import Manifest
from argosy.steps.train.checkpoints.plan import Planning
from argosy.steps.train.checkpoints.ranks import Ranks
from argosy.steps.train.checkpoints.saving import Save, Saved, Venue
from argosy.steps.train.checkpoints.shelf import Kept, Shelf
from argosy.steps.train.checkpoints.state import Taken, entries, put_together, taken_apart
from argosy.steps.train.checkpoints.store import Store
from argosy.steps.train.world import World


class Stateful(Protocol):
    """A part of a training, such as its model, its optimiser or its position."""

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state: dict[str, Any], /) -> object: ...


Parts = Mapping[str, Stateful]


class Checkpoints:
    """What several ranks have in common has the same value on each; what is one rank's own, a name of its own."""

    def __init__(
        self,
        store: Store,
        world: World,
        *,
        kept: int,
        dataset_hash: str,
        fence: Callable[[], None] = lambda: None,
        told: Callable[[int], None] = lambda _step: None,
    ) -> None:
        """Collective. `kept` newest ones stay, two at the least, and the one with the greatest metric. `fence` raises
        StepError where this attempt may not commit any more. `told` is called, on every rank and from another thread
        than the training's, with the step of a checkpoint as soon as it counts; and with that resumed at.
        """
        self._store, self._dataset_hash, self._fence, self._told = store, dataset_hash, fence, told
        self._ranks = Ranks(world)
        self._shelf = Shelf(store, kept)
        self._planning = Planning(self._ranks)
        self._image = Image(pinned=world.device.type == "cuda")
        self._save: Save | None = None
        self.committed = 0
        """Step of the newest that counts, from the moment it does; 0: none does."""
        self.save_seconds = 0.0
        """The longest time from a save's beginning until it counted."""

    def resume(self, parts: Parts) -> int:
        """Loads the newest sound checkpoint into these parts, and returns its step; 0: there is none. Collective.

        One that is damaged is set aside, and the one before it is taken. Raises StepError: CONFIGURATION for one of
        other data, or of other parts than these; TEMPORARY where the store does not answer.
        """
        self._wait()
        if self._ranks.is_first:
            self._fence()
            self._store.sweep()
        self._count(self._load(self._shelf.newest, parts))
        return self.committed

    def restore_best(self, parts: Parts) -> int:
        """Loads the sound checkpoint with the greatest metric into these parts, which may be some of those that were
        saved, and returns its step; 0: none has a metric. Collective. Raises as `resume` does.
        """
        self._wait()
        return self._load(self._shelf.best, parts)

    def _load(self, choice: Callable[[], Kept | None], parts: Parts) -> int:
        """`choice` is the first rank's, of those that are left."""
        present: Mapping[str, Tensor] | None = None
        while kept := self._ranks.agreed(choice() if self._ranks.is_first else None):
            self._require_same_data(kept.manifest)
            if present is None:
                present = _taken(parts).tensors
            read = self._read(kept, parts, present)
            damage = [one for one in self._ranks.gathered(read if isinstance(read, str) else "") if one]
            if not isinstance(read, str) and not damage:
                read.put_in_place(parts)
                return kept.manifest.step
            if self._ranks.is_first:
                self._shelf.set_aside(kept, damage[0])
        return 0

    def save(self, step: int, parts: Parts, *, metric: float | None = None) -> None:
        """Begins a checkpoint, and returns when the state is copied to host memory: it may change then. Collective.

        Waits for the save before, and raises what that failed with: StepError, CONFIGURATION without room or rights,
        TEMPORARY where the store did not answer, CODE where a checkpoint cannot hold a part.
        """
        began = time.monotonic()
        self._wait()
        state = _taken(parts)
        plan = self._planning.plan(state)
        name = self._ranks.agreed(f"step-{step:08d}-{secrets.token_hex(4)}")
        content = self._image.taken(plan, state)
        about = Saved(name, step, self._dataset_hash, metric, began)
        self._save = Save(about, plan, content, Venue(self._store, self._ranks, self._shelf, self._fence), self._count)
        self._save.start()

    def finish(self) -> None:
        """The last checkpoint counts when this returns. Collective. Raises as `save` does."""
        self._wait()

    def _wait(self) -> None:
        if self._save is None:
            return
        save, self._save = self._save, None
        self.save_seconds = max(self.save_seconds, save.seconds())

    def _count(self, step: int) -> None:
        self.committed = step
        self._told(step)

    def _require_same_data(self, manifest: Manifest) -> None:
        if manifest.dataset_hash != self._dataset_hash:
            raise configuration_error(
                f"checkpoint of step {manifest.step}: was trained on data {manifest.dataset_hash} and not "
                f"{self._dataset_hash}; give another --run"
            )

    def _read(self, kept: Kept, parts: Parts, present: Mapping[str, Tensor]) -> "_Read | str":
        """What this rank needs; or, if that cannot be had, why."""
        name, manifest = kept.name, kept.manifest
        try:
            frame = loading.frame(self._store, name, manifest)
            if lacking := sorted(parts.keys() - entries(frame).keys()):
                raise _refusal(manifest, f"holds no {lacking[0]}")
            wanted = [each for each in manifest.tensors if each.partition("/")[0] in parts]
            loaded = loading.tensors(self._store, name, manifest, wanted, present)
            states = {each: put_together(entries(frame)[each], loaded.tensors) for each in parts}
            return _Read(manifest, loaded, states)
        except ObjectFailure as failure:
            return str(failure)
        except ValueError as error:
            raise _refusal(manifest, f"does not fit: {error}") from None


@dataclass
class _Read:
    """What was read, before anything of the training is changed."""

    manifest: Manifest
    loaded: loading.Loaded
    states: dict[str, Any]

    def put_in_place(self, parts: Parts) -> None:
        self.loaded.put_in_place()
        for name, part in parts.items():
            try:
                part.load_state_dict(self.states[name])
            except (ValueError, KeyError, RuntimeError, TypeError) as error:
                raise _refusal(self.manifest, f"its {name} does not fit: {' '.join(str(error).split())}") from None


def _taken(parts: Parts) -> Taken:
    return taken_apart({name: part.state_dict() for name, part in parts.items()})


def _refusal(manifest: Manifest, why: str) -> StepError:
    return configuration_error(f"checkpoint of step {manifest.step}: {why}; give another --run to train anew")
