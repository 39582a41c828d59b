"""Bounds from resampling, betting and pairs: against closed forms, brute force and each other."""

import numpy as np
import pytest
from scipy.special import ndtri

from argosy.steps.gate import betting, bootstrap, order, paired

RNG = np.random.default_rng(0)
FIRST = [856, 741, 747, 283, 113]


@pytest.mark.parametrize(
    ("gained", "lost", "samples"), [(0, 0, 50), (3, 1, 50), (0, 7, 40), (20, 30, 200), (12, 0, 12)]
)
def test_a_paired_bound_is_where_the_likeliest_models_with_that_difference_are_just_not_rejected(gained, lost, samples):
    lower = paired.difference(gained, lost, samples, 0.95).lower
    shares = np.linspace(0, 1, 200_001)[1:-1]  # of samples that only the old model gets right
    both = shares + lower
    kept = (both > 0) & (shares + both < 1)
    shares, both = shares[kept], both[kept]
    likelihood = gained * np.log(both) + lost * np.log(shares) + (samples - gained - lost) * np.log1p(-shares - both)
    likeliest = shares[likelihood.argmax()]
    spread = np.sqrt(samples * (2 * likeliest + lower - lower**2))
    assert (gained - lost - samples * lower) / spread == pytest.approx(ndtri(0.95), rel=0.01)


def test_models_that_never_differ_still_leave_a_doubt_that_shrinks_with_the_samples():
    z = ndtri(0.95) ** 2
    for samples in (10, 1000):
        found = paired.difference(0, 0, samples, 0.95)
        assert found.lower == pytest.approx(-z / (samples + z)) == -found.upper


def test_equal_scores_give_a_bound_of_some_width_where_the_span_is_known_and_none_where_not():
    ones, own = np.ones(200), np.arange(200)
    found = bootstrap.mean(ones, own, 0.95, 0, (0.0, 1.0))
    assert 0.95 < found.lower < 0.05 ** (1 / 200) < found.estimate == found.upper == 1
    assert found.method == betting.METHOD
    unknown = bootstrap.mean(ones, own, 0.95, 0, None)
    assert (unknown.lower, unknown.upper) == (None, None)
    assert "differ more" in unknown.lacks
    same = bootstrap.mean(np.zeros(200), own, 0.95, 0, (-1.0, 1.0))
    assert -0.05 < same.lower < 0 < same.upper < 0.05


def test_a_bet_is_won_no_more_often_than_stated_whatever_the_distribution():
    for draw, mean in (
        (lambda: (RNG.random(30) < 0.98).astype(float), 0.98),
        (lambda: RNG.beta(0.9, 0.1, 30), 0.9),
        (lambda: np.where(RNG.random(30) < 0.02, -1.0, 0.02), -0.0004),
    ):
        low = -1.0 if mean < 0 else 0.0
        wrong = [betting.mean_lower(draw(), np.ones(30), low, 0.95) > mean for _ in range(500)]
        assert np.mean(wrong) <= 0.05


def test_whole_clusters_are_drawn():
    each = RNG.random(30).repeat(20)
    alone = bootstrap.mean(each, np.arange(600), 0.95, 0, (0.0, 1.0))
    together = bootstrap.mean(each, np.arange(30).repeat(20), 0.95, 0, (0.0, 1.0))
    assert alone.estimate == together.estimate
    assert (together.estimate - together.lower) / (alone.estimate - alone.lower) == pytest.approx(20**0.5, rel=0.2)
    of_all = bootstrap.statistic(lambda chosen: float(each[chosen].mean()), np.arange(30).repeat(20), 0.95, 0)
    assert of_all.lower == pytest.approx(together.lower, abs=0.03)


def test_the_two_bootstraps_agree_on_the_mean_of_skewed_scores_and_with_the_normal_of_many():
    each, own = RNG.exponential(size=400), np.arange(400)
    first = bootstrap.mean(each, own, 0.95, 0, None)
    second = bootstrap.statistic(lambda chosen: float(each[chosen].mean()), own, 0.95, 0)
    width = float(ndtri(0.95)) * each.std() / 20
    for found in (first, second):
        assert found.lower == pytest.approx(each.mean() - width, abs=0.25 * width)
        assert found.upper == pytest.approx(each.mean() + width, abs=0.35 * width)
        assert found.upper - each.mean() > each.mean() - found.lower, "the long tail is above"


def test_the_same_seed_gives_the_same_bounds():
    each, own = RNG.random(50), np.arange(50)
    assert bootstrap.mean(each, own, 0.95, 7, None) == bootstrap.mean(each, own, 0.95, 7, None)
    assert bootstrap.mean(each, own, 0.95, 7, None) != bootstrap.mean(each, own, 0.95, 8, None)


def test_a_metric_that_is_no_number_for_some_resamples_has_no_bound():
    found = bootstrap.statistic(lambda chosen: 1.0 if 0 in chosen else float("nan"), np.arange(30), 0.95, 0)
    assert (found.lower, found.upper) == (None, None)
    assert "a number for any part" in found.lacks


def test_the_order_of_judging_is_a_permutation_that_only_data_and_split_decide():
    first = order.permutation("a" * 32, "test", 1000)
    assert sorted(first.tolist()) == list(range(1000))
    assert first.tolist() == order.permutation("a" * 32, "test", 1000).tolist()
    assert first[:5].tolist() == FIRST, "verdicts of before and after a change of argosy would not pair"
    for other in (order.permutation("b" * 32, "test", 1000), order.permutation("a" * 32, "train", 1000)):
        assert (other == first).mean() < 0.02
    assert abs(np.corrcoef(first, np.arange(1000))[0, 1]) < 0.1
