"""Argo's own linter, asked by `argosy check` where it is installed."""

import pytest
from testcluster.needs import lacking
from testcluster.paths import BINARIES, ROOT

from argosy.pipelines.checks.linter import argo_lint

pytestmark = pytest.mark.skipif(bool(lacking()), reason=f"cluster tier not run: {lacking()}")
MANIFEST = (ROOT / "tests" / "pipelines" / "golden" / "digits.yaml").read_text()


@pytest.fixture(autouse=True)
def argo(monkeypatch):
    monkeypatch.setenv("PATH", str(BINARIES))


def test_the_reference_pipeline_passes():
    assert argo_lint(MANIFEST) == []


def test_what_it_finds_is_told():
    (problem,) = argo_lint(MANIFEST.replace("template: stage", "template: nowhere"))
    assert "'nowhere' undefined" in str(problem)
