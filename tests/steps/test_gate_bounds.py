"""The bounds keep their promise for every true value, by exact sums over all outcomes: nothing here is random."""

import math
from fractions import Fraction
from itertools import accumulate

import pytest

from argosy.steps.gate import bounds
from argosy.steps.gates import requests_needed

CONFIDENCES = [0.8, 0.95, 0.99]
PROBABILITIES = [Fraction(i, 40) for i in range(1, 40)]


def binomial(n: int, p: Fraction) -> list[float]:
    return [float(math.comb(n, k) * p**k * (1 - p) ** (n - k)) for k in range(n + 1)]


@pytest.mark.parametrize("confidence", CONFIDENCES)
@pytest.mark.parametrize("n", [1, 2, 7, 30, 60])
def test_a_proportions_bounds_are_wrong_no_more_often_than_promised(n, confidence):
    lower = [bounds.proportion_lower(k, n, confidence) for k in range(n + 1)]
    upper = [bounds.proportion_upper(k, n, confidence) for k in range(n + 1)]
    for p in PROBABILITIES:
        weights = binomial(n, p)
        assert sum(w for w, bound in zip(weights, lower, strict=True) if bound > p) <= 1 - confidence + 1e-12
        assert sum(w for w, bound in zip(weights, upper, strict=True) if bound < p) <= 1 - confidence + 1e-12


@pytest.mark.parametrize("confidence", CONFIDENCES)
@pytest.mark.parametrize(("k", "n"), [(1, 1), (3, 7), (29, 30), (30, 30), (350, 360)])
def test_a_proportions_lower_bound_is_as_tight_as_exactness_allows(k, n, confidence):
    bound = Fraction(bounds.proportion_lower(k, n, confidence))
    assert sum(binomial(n, bound)[k:]) == pytest.approx(1 - confidence, rel=1e-9)


def test_a_proportions_bounds_stay_within_nought_and_one():
    assert bounds.proportion_lower(0, 5, 0.95) == 0
    assert bounds.proportion_upper(5, 5, 0.95) == 1
    assert bounds.proportion_lower(5, 5, 0.95) == pytest.approx(0.05**0.2)


@pytest.mark.parametrize("confidence", CONFIDENCES)
@pytest.mark.parametrize("quantile", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("n", [1, 5, 40, 300])
def test_a_quantiles_bounds_are_the_tightest_order_statistics_that_keep_the_promise(n, quantile, confidence):
    below = binomial(n, Fraction(str(quantile)))  # how many samples of a continuous distribution lie below it
    fewer = list(accumulate(below))  # fewer[k - 1] = P(fewer than k lie below) = P(the k-th smallest does not)
    safe_above = [k for k in range(1, n + 1) if fewer[k - 1] >= confidence]
    safe_below = [k for k in range(1, n + 1) if 1 - fewer[k - 1] >= confidence]
    ranks = list(range(1, n + 1))
    assert bounds.quantile_upper(ranks, quantile, confidence) == (min(safe_above) if safe_above else None)
    assert bounds.quantile_lower(ranks, quantile, confidence) == (max(safe_below) if safe_below else None)


@pytest.mark.parametrize("confidence", CONFIDENCES)
@pytest.mark.parametrize("quantile", [0.5, 0.9, 0.99, 0.999])
def test_the_requests_needed_are_the_fewest_that_give_an_upper_bound(quantile, confidence):
    needed = requests_needed(quantile, confidence)
    assert bounds.quantile_upper(range(needed), quantile, confidence) is not None
    assert bounds.quantile_upper(range(needed - 1), quantile, confidence) is None


def test_the_requests_needed_for_p99_at_95_percent_are_the_textbooks_299():
    assert requests_needed(0.99, 0.95) == 299


def test_a_quantile_of_few_samples_is_one_of_them():
    assert bounds.quantile_estimate([1.0, 2.0, 3.0, 4.0], 0.5) == 2.0
    assert bounds.quantile_estimate([1.0, 2.0, 3.0, 4.0], 0.99) == 4.0
    assert bounds.quantile_estimate([7.0], 0.01) == 7.0
