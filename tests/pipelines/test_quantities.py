"""Amounts as Kubernetes reads them."""

import pytest

from argosy.pipelines import quantities


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("12", 12), ("1k", 1000), ("1M", 10**6), ("2Gi", 2 * 2**30), ("1.5Ti", 3 * 2**39), ("0.1E", 10**17),
        ("0.5Ki", 512), ("9.007199254740993P", 9_007_199_254_740_993),
    ],
)  # fmt: skip
def test_bytes_are_counted_exactly(text, count):
    assert quantities.byte_count(quantities.space(text)) == count


@pytest.mark.parametrize(("value", "count"), [(2, 2), (0.5, 0.5), ("500m", 0.5), ("1.25", 1.25), ("2000m", 2)])
def test_cpus_are_counted_whole_or_in_thousandths(value, count):
    assert quantities.cpus(quantities.cpu(value)) == count
