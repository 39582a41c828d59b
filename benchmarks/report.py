"""What was measured, as a section of RESULTS.md."""

import os
import platform
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from timing import Figure

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "RESULTS.md"

PREFACE = """# Results

`make bench` writes this file; `make bench-NAME` replaces one section of it.

Each command is a whole process, timed from start to exit. In a round every command of a section runs once, so that a
machine which changes its speed changes it for all. The ratios are those of the minima: *argosy takes* is argosy's
minimum divided by that of the row.
"""
COLUMNS = ("", "min", "median", "rounds", "argosy takes", "goal", "met")
BOUNDS = ("", "argosy takes", "goal", "met")


@dataclass(frozen=True)
class Rival:
    """What argosy is compared with. `at_most` is the goal for argosy's time divided by the rival's."""

    name: str
    figure: Figure
    at_most: float | None = None


@dataclass(frozen=True)
class Comparison:
    """One table: argosy in its first row, then its rivals."""

    title: str
    name: str
    figure: Figure
    rivals: Sequence[Rival]

    def ratio(self, rival: Rival) -> float:
        return self.figure.minimum / rival.figure.minimum

    def is_met(self, rival: Rival) -> bool:
        """A negative ratio meets no goal: a difference below zero is the machine's noise."""
        return rival.at_most is None or 0 <= self.ratio(rival) <= rival.at_most


@dataclass(frozen=True)
class Bound:
    """What argosy may take at most, whatever others take."""

    name: str
    value: float
    at_most: float
    unit: str

    @property
    def is_met(self) -> bool:
        return self.value <= self.at_most


@dataclass(frozen=True)
class Section:
    """One benchmark's results."""

    name: str
    comparisons: Sequence[Comparison]
    notes: str = ""
    bounds: Sequence[Bound] = ()

    @property
    def missed(self) -> list[str]:
        """The goals that were not met."""
        slow = [
            f"{one.title}: {one.name} takes {one.ratio(rival):.2f} of {rival.name}, the goal is {rival.at_most:.2f}"
            for one in self.comparisons
            for rival in one.rivals
            if not one.is_met(rival)
        ]
        return slow + [
            f"{one.name}: {one.value:.2f} {one.unit}, the goal is {one.at_most:.2f}"
            for one in self.bounds
            if not one.is_met
        ]

    def text(self, measured: str) -> str:
        tables = [f"### {one.title}\n\n{_table(one)}" for one in self.comparisons]
        tables += [f"### Bounds\n\n{_bounds(self.bounds)}"] if self.bounds else []
        return "\n\n".join(part for part in (f"## {self.name}", measured, *tables, self.notes.strip()) if part) + "\n"


def circumstances() -> str:
    """When, of what and where the measurements were taken."""
    commit = _git("rev-parse", "--short", "HEAD") or "none"
    changes = " with uncommitted changes" if _git("status", "--porcelain", "--", ".", ":!benchmarks/RESULTS.md") else ""
    machine = f"{os.cpu_count()} cores of {_processor()}, load {os.getloadavg()[0]:.1f} at the start"
    return f"{datetime.now(UTC):%Y-%m-%d}, commit {commit}{changes}, {machine}, Python {platform.python_version()}."


def replaced(text: str, sections: Mapping[str, str], order: Sequence[str]) -> str:
    """RESULTS.md with these sections anew, and the others as they were."""
    old = {part.splitlines()[0]: f"## {part.rstrip()}\n" for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]}
    known = {**old, **sections}
    return "\n".join([PREFACE, *(known[name] for name in order if name in known)])


def _table(one: Comparison) -> str:
    rows = [[f"**{one.name}**", *_cells(one.figure), "", "", ""]]
    for rival in one.rivals:
        goal = ("", "") if rival.at_most is None else (f"at most {rival.at_most:.2f}", _answer(one.is_met(rival)))
        rows.append([rival.name, *_cells(rival.figure), f"{one.ratio(rival):.2f}", *goal])
    return _rows(COLUMNS, rows)


def _bounds(bounds: Sequence[Bound]) -> str:
    return _rows(
        BOUNDS,
        [
            [one.name, f"{one.value:.3g} {one.unit}", f"at most {one.at_most:g} {one.unit}", _answer(one.is_met)]
            for one in bounds
        ],
    )


def _rows(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (columns, ["---"] * len(columns), *rows))


def _answer(is_met: bool) -> str:
    return "yes" if is_met else "**no**"


def _cells(figure: Figure) -> tuple[str, str, str]:
    return _shown(figure.minimum), _shown(figure.median), str(figure.rounds)


def _shown(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.1f} ms"


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*: (.*)$", cpuinfo.read_text(), re.MULTILINE) if cpuinfo.exists() else None
    return found[1] if found else platform.processor() or platform.machine()
