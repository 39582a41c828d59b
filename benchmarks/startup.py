"""What every command pays before it does anything."""

import sys
from importlib.metadata import version
from pathlib import Path

from report import Comparison, Rival, Section
from timing import Case, interleaved

ROUNDS = 20
BIN = Path(sys.executable).parent
ARGOSY, DVC, HERA, BARE = "argosy --help", "dvc --help", "hera --help", "python -c pass"


def measure(rounds: int) -> Section:
    helps = [Case(name, [str(BIN / name.split()[0]), "--help"]) for name in (ARGOSY, DVC, HERA)]
    taken = interleaved([*helps, Case(BARE, [sys.executable, "-c", "pass"])], rounds)
    rivals = [
        Rival(f"{DVC} ({version('dvc')})", taken[DVC], at_most=1),
        Rival(f"{HERA} ({version('hera')})", taken[HERA]),
        Rival(BARE, taken[BARE]),
    ]
    return Section("startup", [Comparison("Help", ARGOSY, taken[ARGOSY], rivals)])
