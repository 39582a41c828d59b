"""The benchmarks' own promises: what RESULTS.md says is what was measured, and a failed command is never fast."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"


@pytest.fixture(autouse=True)
def scripts(monkeypatch):
    """The benchmarks' modules, as `run.py` sees them, and forgotten afterwards."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").parent == BENCHMARKS:
            del sys.modules[name]


@pytest.fixture
def compared():
    """Argosy at 2 s beside a rival at 4 s."""
    from report import Comparison, Rival
    from timing import Figure

    def build(argosy: float, goal: float | None) -> Comparison:
        rivals = [Rival("rival", Figure(4.0, 5.0, 3), goal)]
        return Comparison("Title", "argosy", Figure(argosy, 3.0, 3), rivals)

    return build


def test_every_benchmark_can_be_asked_for_alone():
    text = subprocess.run(
        [sys.executable, BENCHMARKS / "run.py", "--help"], capture_output=True, text=True, check=True
    ).stdout
    assert "{startup,compile,local,staging,loader,checkpoints,loop,gates}" in text


@pytest.mark.parametrize(
    ("argosy", "goal", "cells"),
    [
        (2.0, 0.5, "0.50 | at most 0.50 | yes"),
        (2.1, 0.5, "0.53 | at most 0.50 | **no**"),
        (-0.4, 0.5, "-0.10 | at most 0.50 | **no**"),
        (2.0, None, "0.50 |  | "),
    ],
)
def test_a_row_shows_the_minima_s_ratio_and_whether_its_goal_is_met(compared, argosy, goal, cells):
    from report import Section

    section = Section("startup", [compared(argosy, goal)])
    assert f"| rival | 4.00 s | 5.00 s | 3 | {cells} |" in section.text("measured")
    assert bool(section.missed) == ("**no**" in cells)


def test_one_benchmark_replaces_its_own_section_alone():
    from report import replaced

    order = ("startup", "compile", "local")
    both = replaced("", {"local": "## local\n\nold\n", "startup": "## startup\n\nkept\n"}, order)
    after = replaced(both, {"local": "## local\n\n### new\n"}, order)
    assert after == both.replace("old", "### new")
    assert after.index("## startup") < after.index("## local")


@pytest.mark.parametrize(
    ("code", "said"), [("exit(3)", "exit code 3, 0 of 2"), ("print('done')", "exit code 0, 1 of 2")]
)
def test_a_command_that_fails_or_skips_steps_is_not_timed(code, said):
    from timing import BenchmarkError, Case, interleaved

    case = Case("peer", [sys.executable, "-c", code], steps=2, count=lambda _, output: output.count("done"))
    with pytest.raises(BenchmarkError, match=said):
        interleaved([case], 1)


@pytest.mark.parametrize("at_once", [1, 2, 5])
def test_the_floor_starts_every_command_and_counts_those_that_succeed(tmp_path, at_once):
    code = f"import tempfile; tempfile.mkstemp(dir={str(tmp_path)!r})"
    command = [sys.executable, BENCHMARKS / "floor.py", "4", str(at_once), sys.executable, "-c", code]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "4\n"
    assert len(list(tmp_path.iterdir())) == 4


def test_a_neighbour_is_pinned_without_addresses():
    from neighbours import KFP, METAFLOW

    for peer in (KFP, METAFLOW):
        lines = (BENCHMARKS / "peers" / f"{peer.name}.txt").read_text().splitlines()
        assert f"{peer.name}=={peer.version}" in lines
        assert [line for line in lines if "==" not in line or "/" in line] == []


def test_a_bound_is_shown_with_its_goal_and_missed_above_it():
    from report import Bound, Section

    section = Section("staging", [], bounds=[Bound("memory", 420.0, 400.0, "MB"), Bound("warm", 0.41, 0.5, "s")])
    assert "| memory | 420 MB | at most 400 MB | **no** |" in section.text("measured")
    assert "| warm | 0.41 s | at most 0.5 s | yes |" in section.text("measured")
    assert section.missed == ["memory: 420.00 MB, the goal is 400.00"]


def test_a_case_is_prepared_in_its_folder_before_it_is_timed_and_its_memory_is_taken():
    code = """
import sys
from timing import Case, interleaved

held = "x = b'x' * 100_000_000; print(open('ready').read())"
prepare = lambda folder: (folder / "ready").write_text("yes")
case = Case("case", [sys.executable, "-c", held], prepare=prepare, steps=1, count=lambda _, output: output == "yes\\n")
print(interleaved([case], 1)["case"].memory)
"""  # a process of its own: what starts a program counts as that program's memory until it is another
    done = subprocess.run([sys.executable, "-c", code], cwd=BENCHMARKS, capture_output=True, text=True, check=True)
    assert 100e6 < int(done.stdout.splitlines()[-1]) < 200e6
