"""Which tasks a task depends on, however indirectly."""

import graphlib
from collections.abc import Collection, Iterator, Mapping, Sequence


class Ancestry:
    """A bit set for each task: a chain of a thousand tasks has half a million pairs of them."""

    def __init__(self, dependencies: Mapping[str, Sequence[str]]) -> None:
        """Raises graphlib.CycleError."""
        self.order = list(graphlib.TopologicalSorter(dependencies).static_order())
        """All tasks, each after those that it depends on."""
        self.index = {name: position for position, name in enumerate(self.order)}
        self._masks: list[int] = []
        for name in self.order:
            mask = 0
            for dependency in dependencies[name]:
                mask |= self._masks[self.index[dependency]] | 1 << self.index[dependency]
            self._masks.append(mask)

    def of(self, *names: str) -> "Tasks":
        """The tasks that these depend on."""
        mask = 0
        for name in names:
            mask |= self._masks[self.index[name]]
        return Tasks(self, mask)

    def with_ancestors(self, names: Sequence[str]) -> "Tasks":
        """These tasks and all that they depend on."""
        mask = self.of(*names).mask
        for name in names:
            mask |= 1 << self.index[name]
        return Tasks(self, mask)


class Tasks(Collection[str]):
    """A set of tasks, each after those that it depends on."""

    def __init__(self, ancestry: Ancestry, mask: int) -> None:
        self._ancestry = ancestry
        self.mask = mask

    def __contains__(self, name: object) -> bool:
        position = self._ancestry.index.get(str(name))
        return position is not None and bool(self.mask >> position & 1)

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._ancestry.order if name in self)

    def __len__(self) -> int:
        return self.mask.bit_count()
