"""Our statistics against scipy's, where scipy has the same."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scaleqa.stats import kappa, mcnemar, paired_bootstrap, wilson

scipy_stats = pytest.importorskip("scipy.stats", reason="scipy is not installed")


@given(st.integers(1, 3000), st.data())
def test_wilson_agrees_with_scipy(trials, data):
    successes = data.draw(st.integers(0, trials))
    expected = scipy_stats.binomtest(successes, trials).proportion_ci(method="wilson")
    assert wilson(successes, trials) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_wilson_of_nothing_is_everything():
    assert wilson(0, 0) == (0, 1)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=200))
def test_mcnemar_is_the_exact_binomial_test_of_the_disagreements(pairs):
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    only = sum(a and not b for a, b in pairs)
    trials = only + sum(b and not a for a, b in pairs)
    expected = scipy_stats.binomtest(only, trials).pvalue if trials else 1.0
    assert mcnemar(first, second) == pytest.approx(expected, abs=1e-9)


def test_the_bootstrap_is_seeded_and_agrees_with_scipy():
    rng = np.random.default_rng(4)
    first = (rng.random(400) < 0.8).astype(float)
    second = (rng.random(400) < 0.7).astype(float)
    ours = paired_bootstrap(first, second, seed=1, samples=4000)
    assert ours == paired_bootstrap(first, second, seed=1, samples=4000)
    assert ours != paired_bootstrap(first, second, seed=2, samples=4000)
    theirs = scipy_stats.bootstrap(
        (first - second,), np.mean, n_resamples=4000, method="percentile", rng=7
    ).confidence_interval
    assert ours.difference == pytest.approx(first.mean() - second.mean())
    assert ours.interval.low == pytest.approx(theirs.low, abs=0.01)
    assert ours.interval.high == pytest.approx(theirs.high, abs=0.01)


@settings(max_examples=30)
@given(st.lists(st.tuples(st.sampled_from("AB"), st.sampled_from("AB")), min_size=1, max_size=60))
def test_kappa_is_agreement_beyond_chance(pairs):
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    table = np.array(
        [[sum(p == (a, b) for p in pairs) for b in "AB"] for a in "AB"], dtype=float
    ) / len(pairs)
    chance = (table.sum(axis=0) * table.sum(axis=1)).sum()
    expected = 1.0 if chance == 1 else (np.trace(table) - chance) / (1 - chance)
    assert kappa(first, second) == pytest.approx(expected)
    assert kappa(first, first) == 1


def test_sequences_of_different_length_are_refused():
    for work in (
        lambda: paired_bootstrap([1.0], [1.0, 0.0], seed=1),
        lambda: mcnemar([True], []),
        lambda: kappa(["A"], []),
    ):
        with pytest.raises(ValueError, match="equally long"):
            work()
