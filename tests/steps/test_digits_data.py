"""The reference data are the same bytes wherever they are built, and the committed dvc.lock names them."""

import hashlib
import json
from pathlib import Path

import pytest
import yaml

from argosy.steps import digits_data

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("digits")
    digits_data.main(folder)
    return folder


def test_a_build_elsewhere_has_the_hash_in_dvc_lock(built):
    # DVC's md5 of a folder is that of this list (dvc_data/hashfile/tree.py).
    files = sorted(built.iterdir())
    listing = json.dumps([{"md5": hashlib.md5(file.read_bytes()).hexdigest(), "relpath": file.name} for file in files])
    lock = yaml.safe_load((ROOT / "dvc.lock").read_text())
    (out,) = lock["stages"]["prepare"]["outs"]
    assert out["md5"] == hashlib.md5(listing.encode()).hexdigest() + ".dir"
    assert out["nfiles"] == len(files)


def test_dvc_lock_is_of_this_script():
    (dep,) = yaml.safe_load((ROOT / "dvc.lock").read_text())["stages"]["prepare"]["deps"]
    assert dep["md5"] == hashlib.md5((ROOT / dep["path"]).read_bytes()).hexdigest()


def test_the_splits_share_no_sample_and_lose_none():
    splits = digits_data.splits()
    indices = [index for samples in splits.values() for index, _, _ in samples]
    assert sorted(indices) == list(range(1797))
    assert len(splits["test"]) >= 350


def test_every_split_has_every_digit_in_proportion():
    for samples in digits_data.splits().values():
        digits = [digit for _, _, digit in samples]
        shares = [digits.count(digit) / len(digits) for digit in range(10)]
        assert all(0.08 < share < 0.12 for share in shares)
