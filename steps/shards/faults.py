"""What is wrong with the shards of a split: all of it, in one refusal."""

from pathlib import Path

from argosy.steps.errors import StepError, data_error

SHOWN = 10
"""How many faults a refusal names."""


class Faults:
    """Those found so far."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._shards: set[Path] = set()
        self._count = 0

    def add(self, shard: Path, reason: str) -> None:
        self._count += 1
        self._shards.add(shard)
        if len(self._lines) < SHOWN:
            self._lines.append(f"{shard}: {reason}")

    def __bool__(self) -> bool:
        return self._count > 0

    def are_of(self, shard: Path) -> bool:
        return shard in self._shards

    def refusal(self) -> StepError:
        """DATA, with a line for each fault."""
        more = [f"and {self._count - SHOWN:,} faults more"] if self._count > SHOWN else []
        which = "this shard" if len(self._shards) == 1 else f"these {len(self._shards):,} shards"
        return data_error("\n".join([*self._lines, *more]) + f"; write {which} anew, and add the dataset anew to DVC")
