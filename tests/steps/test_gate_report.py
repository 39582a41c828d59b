"""A gate's report: whole under the Argo UI's policy, escaped, and there for every verdict."""

import math
import re
import signal
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from argosy.steps import machine
from argosy.steps.gate import pair_plot, report, slice_plot
from argosy.steps.gate.conclusion import concluded
from argosy.steps.gate.slices import Slice
from argosy.steps.gate.verdict import AT_LEAST, AT_MOST, Measurement, judge
from argosy.steps.gates import GateInput, SlicesInput

PLANTED = "<script>alert(1)</script>\"'&"
VOID = {"meta", "tr", "th", "td", "line", "circle", "rect"}  # HTML lets these end without saying so


def inputs(**changes):
    fields = {
        "output": Path("out"),
        "task": "argosy.steps.digits:Digits",
        "cache": Path("cache"),
        "dataset_hash": "0" * 32,
        "models": Path("models"),
        "model": "run/model",
        "model_hash": "f" * 64,
        "gate": "accuracy-gate",
        "revision": "c0ffee",
        "confidence": 0.95,
    }
    return GateInput(**fields | changes)


def measured(lower=0.91, estimate=0.93, upper=0.95, **changes):
    fields = {"metric": "accuracy", "unit": "", "samples": 1360, "conditions": "n = 1360"} | changes
    return Measurement(estimate=estimate, lower=lower, upper=upper, **fields)


def page(given=None, measurement=None, threshold=0.9, direction=AT_LEAST):
    given, measurement = given or inputs(), measurement or measured()
    return report.page(given, measurement, judge(given, measurement, threshold, direction))


class Page(HTMLParser):
    """Elements, attributes and text of a page; fails where an element ends that did not begin."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.attributes, self.text, self._open = [], [], "", []
        self.feed(html)
        self.close()
        assert not self._open

    def handle_starttag(self, tag, attributes):
        self.elements.append(tag)
        self.attributes += attributes
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append(tag)
        self.attributes += attributes

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.text += data if not self._open or self._open[-1] != "style" else ""


SLICES = SlicesInput(**inputs().model_dump(), at_least=0.9, by=PLANTED)
SLICED = [Slice(PLANTED, 40, 0.8, 0.7, 0.85, "m", ""), Slice("b", 30, 0.95, None, None, "m", "more")]

CASES = {
    "pass": (measured(), 0.9, AT_LEAST),
    "fail": (measured(), 0.99, AT_LEAST),
    "inconclusive": (measured(), 0.92, AT_LEAST),
    "no bound": (measured(lower=1.0, estimate=2.0, upper=None, unit="ms"), 50.0, AT_MOST),
    "no number": (measured(estimate=math.nan), 0.9, AT_LEAST),
    "exact, at the threshold": (measured(5.0, 5.0, 5.0, unit="MiB"), 5.0, AT_MOST),
    "all zero": (measured(0.0, 0.0, 0.0), 0.0, AT_MOST),
}


@pytest.mark.parametrize("case", CASES)
def test_the_page_is_whole_without_scripts_pictures_or_links(case):
    measurement, threshold, direction = CASES[case]
    html = page(measurement=measurement, threshold=threshold, direction=direction)
    parsed = Page(html)
    assert not {"script", "img", "link", "a", "iframe", "image", "use"} & set(parsed.elements)
    assert not {"href", "src", "xlink:href"} & {name for name, _ in parsed.attributes}
    assert not [name for name, _ in parsed.attributes if name.startswith("on")]
    assert not re.search(r"https?:|data:|url\(|@import|nan\"|inf\"", html)
    for words in ("95 %", "1,360", "0" * 32, "f" * 64, "c0ffee", "run/model"):
        assert words in parsed.text


def test_the_page_says_how_it_was_decided_where_and_what_follows():
    given = inputs(inconclusive="hold")
    sections = (pair_plot.section_of(900, 30, 20, 50), slice_plot.section_of(SLICES, SLICED))
    measurement = measured(method="some method", looks=2, planned=3, champion=7, sections=sections)
    parsed = Page(page(given, measurement, threshold=0.92))
    for words in (
        "some method",
        "2 of 3",
        "version 7",
        "waits for a person",
        machine.fingerprint(),
        "30",
        "20",
        PLANTED,
    ):
        assert words in parsed.text
    assert not {"script", "img", "link", "a"} & set(parsed.elements)


def test_planted_markup_stays_text():
    given = inputs(gate=PLANTED, revision=PLANTED, model=PLANTED)
    html = page(given, measured(metric=PLANTED, conditions=PLANTED, unit=PLANTED))
    assert "<script" not in html
    parsed = Page(html)
    assert parsed.text.count(PLANTED) >= 4
    assert "script" not in parsed.elements


def test_the_axis_shows_the_interval_on_the_side_of_the_threshold_where_it_lies():
    def places(threshold, **bounds):
        html = page(measurement=measured(**bounds), threshold=threshold)
        (interval,) = re.findall(r'<line x1="([\d.]+)" x2="([\d.]+)"[^>]*stroke-width="8"', html)
        (mark,) = re.findall(r'<line x1="([\d.]+)"[^>]*dasharray', html)
        return float(interval[0]), float(interval[1]), float(mark)

    low, high, threshold = places(0.9)
    assert threshold < low < high
    low, high, threshold = places(0.92)
    assert low < threshold < high
    low, high, threshold = places(0.99)
    assert low < high < threshold
    assert places(0.92, upper=None)[1] == report.WIDTH - report.MARGIN
    assert places(0.92, lower=None)[0] == report.MARGIN


@pytest.mark.parametrize(("threshold", "answer"), [(0.9, "pass"), (0.99, "fail"), (0.92, "inconclusive")])
def test_every_verdict_leaves_its_report(threshold, answer, tmp_path):
    given = inputs(output=tmp_path)
    assert concluded(given, measured(), threshold, AT_LEAST, 0.0).answer == answer
    assert f"accuracy-gate: {answer}" in Page((tmp_path / "report.html").read_text()).text


KILLED = """
import os, signal, sys
from pathlib import Path
os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
from argosy.steps import files
files.write_text(Path(sys.argv[1]) / "report.html", "<!DOCTYPE html>" * 1000)
"""


def test_a_gate_killed_while_it_writes_leaves_no_half_report(tmp_path):
    done = subprocess.run([sys.executable, "-c", KILLED, tmp_path], check=False)
    assert done.returncode == -signal.SIGKILL
    assert not (tmp_path / "report.html").exists()
