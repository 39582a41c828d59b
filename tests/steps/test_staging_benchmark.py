"""The staging benchmark times what it says: commands that stage every file, cold into nothing and warm again."""

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
FILES, BYTES = 40, 20_000


@pytest.fixture(autouse=True)
def scripts(monkeypatch):
    """The benchmarks' modules, as `run.py` sees them, and forgotten afterwards."""
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").parent == BENCHMARKS:
            del sys.modules[name]


@pytest.fixture
def bench(tmp_path):
    from borrowed import objectstore
    from staging import _write
    from staging_tools import Bench, Load

    if why := objectstore.missing():
        pytest.skip(f"the staging benchmark was not tested: {why}")
    load = Load("small", FILES, BYTES)
    _write(tmp_path, [load])
    with objectstore.serving(tmp_path / "buckets") as store:
        yield Bench(load, tmp_path, store)


def reads(bench):
    counted = sum(bench.store.counters()["reads"].values())
    bench.store.count_anew()
    return counted


def test_the_same_data_is_written_in_every_run(bench, tmp_path):
    again = tmp_path / "again"
    writer = [sys.executable, BENCHMARKS / "staging_data.py", again, f"small={FILES}x{BYTES}"]
    subprocess.run(writer, check=True, stdout=subprocess.DEVNULL)
    assert (again / "projects/small/data.dvc").read_text() == (bench.project / "data.dvc").read_text()


def test_every_rival_fetches_all_when_cold_and_nothing_when_warm(bench, tmp_path):
    from timing import interleaved

    for number, tool in enumerate([*bench.rivals()]):
        folder = tmp_path / str(number)
        interleaved([bench.cold(tool, 0, folder)], 1)
        assert reads(bench) > FILES, tool.name
        interleaved([bench.warm(tool, 0, folder)], 1)
        assert reads(bench) <= 1, tool.name


def test_the_floor_reads_and_writes_every_object_and_asks_no_server(bench):
    from timing import interleaved

    interleaved([bench.cold(bench.floor(), 0)], 1)
    assert reads(bench) == 0


@pytest.mark.usefixtures("bench")
def test_a_section_has_every_table_with_its_goals_and_every_bound(monkeypatch):
    import staging
    from staging_tools import Bench, Load

    monkeypatch.setattr(Bench, "rivals", lambda _: [])
    size = staging.Size([Load("small", FILES, BYTES, of_floor=1000)], Load("many", 2 * FILES, 10))
    text = staging.measure(1, size).text("measured")
    for kind in ("cold", "warm"):
        for latency in (0, 20):
            assert f"### {FILES} x 20 kB, {kind}, {latency} ms" in text
    assert text.count("at most 1000.00") == 1
    for bound in (f"warm, {2 * FILES} files", f"resolve, {2 * FILES} files", f"memory, {FILES} x 20 kB"):
        assert f"| {bound} | " in text
