"""A pipeline, and a chain of 1,000 tasks, compiled to a manifest."""

import sys
from importlib.metadata import version
from pathlib import Path

from report import ROOT, Comparison, Rival, Section
from timing import Case, interleaved

ROUNDS = 10
BIN = Path(sys.executable).parent
TRIVIAL = ROOT / "benchmarks" / "trivial.py"

IMPORT = 'python -c "import hera.workflows"'
DIGITS, CHAIN = "argosy compile digits", "argosy compile, chain of 1,000"
HERA_DIGITS, HERA_CHAIN = "hera generate yaml, digits", "hera generate yaml, chain of 1,000"


def shape(kind: str, steps: int) -> dict[str, str]:
    """The environment in which trivial.py defines this workflow."""
    return {"SHAPE": kind, "STEPS": str(steps), "PYTHON": sys.executable}


def measure(rounds: int) -> Section:
    argosy, hera = [str(BIN / "argosy"), "compile"], [str(BIN / "hera"), "generate", "yaml"]
    chain = shape("chain", 1000)
    cases = [
        Case(DIGITS, [*argosy, "digits"], cwd=ROOT),
        Case(IMPORT, [sys.executable, "-c", "import hera.workflows"]),
        Case(HERA_DIGITS, [*hera, "pipelines/digits.py"], cwd=ROOT),
        Case(CHAIN, [*argosy, str(TRIVIAL)], environment=chain),
        Case(HERA_CHAIN, [*hera, str(TRIVIAL)], environment=chain),
    ]
    taken = interleaved(cases, rounds)
    return Section(
        "compile",
        [
            Comparison(
                "The reference pipeline",
                DIGITS,
                taken[DIGITS],
                [Rival(IMPORT, taken[IMPORT], at_most=1.5), Rival(HERA_DIGITS, taken[HERA_DIGITS])],
            ),
            Comparison(
                "A chain of 1,000 tasks",
                CHAIN,
                taken[CHAIN],
                [Rival(IMPORT, taken[IMPORT]), Rival(HERA_CHAIN, taken[HERA_CHAIN])],
            ),
        ],
        f"Hera is {version('hera')}. argosy also checks what it compiles, and hera does not.",
    )
