"""The gate that compares a model with the champion, a real version of a real registry.

Each model predicts the digit that one pixel of an image says, so that a test decides which of two is right on a sample.
"""

import hashlib
import pickle
import shutil
import zipfile
from pathlib import Path

import pytest
import torch

from argosy.steps import digits_data, exported_model, files
from argosy.steps.cache.entry import Entry
from argosy.steps.cache.node_cache import NodeCache
from argosy.steps.cache.version import Version
from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.gate import champion
from argosy.steps.gates import Answer, ChampionInput, Comparison
from argosy.steps.publish import step
from argosy.steps.train.export import export

TASK = "argosy.steps.digits:Digits"
HASH = "0123456789abcdef0123456789abcdef"
OTHER = HASH[::-1]
GATE = "champion-gate"
BOTH, NEW, OLD, NEITHER = (1, 1), (1, 0), (0, 1), (0, 0)
"""Which of the two models is right on a sample, whose digit is 1."""


class Pixel(torch.nn.Module):
    """Predicts what this pixel of the first row says."""

    def __init__(self, column, digits=10):
        super().__init__()
        self.column, self.digits = column, digits

    def forward(self, images):
        return -((images[:, 0, 0, self.column : self.column + 1] * 16 - torch.arange(self.digits)) ** 2)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    store = tmp_path_factory.mktemp("store")
    for name, model in {"new": Pixel(0), "old": Pixel(1), "wide": Pixel(1, digits=12)}.items():
        (store / name).mkdir()
        export(model, torch.zeros(1, 8, 8), store / name / "model", task=TASK, hyperparameters={}, training={})
    return store


@pytest.fixture
def publish(inputs, store):
    def published(model, uid=None, **changes):
        return step.run(inputs(uid or model, models=store, model=f"{model}/model", **changes))

    return published


@pytest.fixture
def judged(inputs, store, tmp_path):
    """What the gate takes, for a test split of such samples."""

    def given(samples, margin=0.02, **changes):
        stage(tmp_path, samples)
        (tmp_path / "gate").mkdir(exist_ok=True)
        fields = {
            "output": tmp_path / "gate",
            "task": TASK,
            "cache": tmp_path,
            "dataset_hash": HASH,
            "models": store,
            "model": "new/model",
            "model_hash": files.sha256(store / "new/model" / exported_model.PROGRAM),
            "gate": GATE,
            "confidence": 0.95,
            "registry": "digits",
            "alias": "champion",
            "tracking_uri": inputs().tracking_uri,
            "margin": margin,
        }
        return champion.run(ChampionInput(**fields | changes)).verdict

    return given


def stage(folder, samples, key=HASH):
    data = [(i, bytes(pixels) + bytes(62), 1) for i, pixels in enumerate(samples)]
    digits_data.write_shard(folder / "shard", data)
    shard = (folder / "shard").read_bytes()
    md5, cache = hashlib.md5(shard).hexdigest(), NodeCache(folder)
    with cache.staging(key):
        cache.blobs.add(md5, shard)
        cache.publish(key, Version(dataset="d", dataset_hash=key, revision=""), [Entry("test-0.tar", md5)], xxh3={})


def test_where_there_is_no_champion_yet_a_model_passes_and_that_is_said(judged):
    verdict = judged([NEITHER])
    assert (verdict.answer, verdict.champion, verdict.samples) == (Answer.PASS, None, 0)
    assert "no version of digits is champion yet" in verdict.reason


def test_the_champion_itself_passes_by_identity(judged, publish):
    publish("new")
    verdict = judged([NEITHER])
    assert (verdict.answer, verdict.champion, verdict.estimate) == (Answer.PASS, 1, 0)
    assert "digits version 1 is this very model" in verdict.reason


@pytest.mark.parametrize(
    ("samples", "margin", "answer"),
    [
        ([BOTH] * 396 + [NEW] * 2 + [OLD] * 2, 0.02, Answer.PASS),  # equal, within the margin
        ([BOTH] * 340 + [NEW] * 60, 0.0, Answer.PASS),
        ([BOTH] * 340 + [NEW] * 2 + [OLD] * 58, 0.02, Answer.FAIL),
        ([BOTH] * 40, 0.001, Answer.INCONCLUSIVE),  # no sample differs, and still nobody knows
    ],
)
def test_a_worse_model_fails_and_one_that_is_equal_within_the_margin_passes(judged, publish, samples, margin, answer):
    publish("old")
    verdict = judged(samples, margin)
    assert (verdict.answer, verdict.champion, verdict.threshold) == (answer, 1, -margin)
    gained, lost = samples.count(NEW), samples.count(OLD)
    assert verdict.estimate == pytest.approx((gained - lost) / len(samples))
    said = f"{gained} of them right with this model only and {lost} with the champion only"
    assert f"against digits version 1, n = {len(samples)}, {said}" in verdict.reason


def test_a_worse_model_never_takes_the_alias_though_it_was_compared_before_the_champion_changed(
    publish, verdict, tmp_path
):
    """Both publishes have a verdict that is a pass, against no champion; what decides is the comparison made again."""
    stage(tmp_path, [BOTH] * 340 + [OLD] * 60)
    again = {
        "verdicts": {GATE: verdict(GATE, champion=None)},
        "comparisons": {GATE: Comparison(confidence=0.95, margin=0.02)},
        "cache": tmp_path,
        "dataset_hash": HASH,
    }
    publish("old", "old", **again)
    assert publish("new", "worse", **again).champion == 1
    stage(tmp_path, [BOTH] * 396 + [NEW] * 2 + [OLD] * 2, OTHER)
    assert publish("new", "equal", **again | {"dataset_hash": OTHER}).champion == 3


def test_a_champion_of_another_shape_is_said_so(judged, publish):
    publish("wide")
    with pytest.raises(StepError, match=r"digits version 1: makes float32 \(12,\).*cannot be compared") as caught:
        judged([BOTH])
    assert caught.value.exit_code == ExitCode.DATA


def test_a_champion_whose_files_are_gone_or_changed_is_named(judged, publish, tmp_path):
    publish("old")
    (program,) = (tmp_path / "registry/artifacts").rglob(exported_model.PROGRAM)
    program.write_bytes(program.read_bytes()[:-1])
    with pytest.raises(StepError, match=r"digits version 1: .*it changed after training") as caught:
        judged([BOTH])
    assert caught.value.exit_code == ExitCode.DATA
    program.unlink()
    with pytest.raises(StepError, match=r"digits version 1: has no data/\*/model\.pt2"):
        judged([BOTH])


class Touch:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_x5_pickled_code_inside_a_champion_is_never_run(judged, inputs, store, tmp_path):
    mark, folder = tmp_path / "executed", tmp_path / "evil/model"
    shutil.copytree(store / "old/model", folder)
    with (
        zipfile.ZipFile(store / "old/model" / exported_model.PROGRAM) as source,
        zipfile.ZipFile(folder / exported_model.PROGRAM, "w") as target,
    ):
        for name in source.namelist():
            evil = name.endswith("sample_inputs/model.pt")
            target.writestr(name, pickle.dumps(Touch(mark)) if evil else source.read(name))
    step.run(inputs(models=tmp_path, model="evil/model"))
    with pytest.raises(StepError, match=r"digits version 1: torch cannot load its model\.pt2") as caught:
        judged([BOTH])
    assert caught.value.exit_code == ExitCode.DATA
    assert not mark.exists()


def test_a_comparison_keeps_nothing_of_the_champion(judged, publish, tmp_path, monkeypatch):
    publish("old")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    judged([BOTH] * 50)
    assert not list((tmp_path / "scratch").iterdir())
