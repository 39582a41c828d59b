"""Measures argosy beside its neighbours and writes RESULTS.md: `run.py [NAME]`."""

import argparse
import importlib
import subprocess
import sys

from report import RESULTS, Section, circumstances, replaced
from timing import BenchmarkError

BENCHMARKS = ("startup", "compile", "local", "staging", "loader", "checkpoints", "loop", "gates")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="?", choices=BENCHMARKS, help="measure this one; without it, all")
    parser.add_argument("--rounds", type=int, help="rounds instead of the benchmark's own number")
    arguments = parser.parse_args()
    measured = circumstances()
    print(measured, flush=True)
    missed: list[str] = []
    for name in [arguments.name] if arguments.name else BENCHMARKS:
        print(name, flush=True)
        benchmark = importlib.import_module(name)
        try:
            section: Section = benchmark.measure(arguments.rounds or benchmark.ROUNDS)
        except (BenchmarkError, subprocess.CalledProcessError) as error:
            sys.exit(f"{name} is not measured: {error}")
        _write(section, measured)
        missed += section.missed
    print("\n".join(["goals missed:", *missed] if missed else ["every goal is met"]), f"\n{RESULTS}")


def _write(section: Section, measured: str) -> None:
    """Replace a section of RESULTS.md, whole or not at all."""
    text = RESULTS.read_text() if RESULTS.exists() else ""
    temporary = RESULTS.with_name(f".{RESULTS.name}.part")
    temporary.write_text(replaced(text, {section.name: section.text(measured)}, BENCHMARKS))
    temporary.replace(RESULTS)


if __name__ == "__main__":
    main()
