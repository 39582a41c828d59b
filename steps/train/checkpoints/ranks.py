"""What ranks tell one another about a checkpoint, while their training goes on."""

from typing import TypeVar

from torch import distributed
from torch.distributed import ProcessGroup

from argosy.steps.train.world import World

Word = TypeVar("Word")


class Ranks:
    """A process group of their own: what a thread says here does not mix with what the training says."""

    def __init__(self, world: World) -> None:
        """Collective."""
        self.rank, self.size = world.rank, world.size
        self._group: ProcessGroup | None = None
        if world.size > 1:
            group = distributed.new_group(backend="gloo")
            assert isinstance(group, ProcessGroup)  # every rank is a member
            self._group = group

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    def gathered(self, mine: Word) -> list[Word]:
        """Every rank's word, in their order. Collective."""
        if self._group is None:
            return [mine]
        words = [mine] * self.size
        distributed.all_gather_object(words, mine, group=self._group)
        return words

    def agreed(self, word: Word) -> Word:
        """The first rank's word. Collective."""
        if self._group is None:
            return word
        words = [word]
        distributed.broadcast_object_list(words, src=0, group=self._group)
        return words[0]
