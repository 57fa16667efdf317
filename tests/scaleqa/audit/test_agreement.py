"""Agreement of raters, against the package `krippendorff`, scikit-learn and printed examples."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scaleqa.stats import agreement, kappa
from scaleqa.stats.agreement import MISSING, coded, estimate

# The example of the article on Fleiss' kappa in Wikipedia: 10 items, 14 raters; kappa .210.
COUNTS = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]
# Krippendorff (2011): 12 units, 4 observers, missing data; printed .743, .815, .849.
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]


def value(measure):
    return estimate(measure, seed=1, samples=10).value


def spread(counts):
    """One row of codes for each item whose categories were chosen so often."""
    return np.array(
        [[code for code, times in enumerate(row) for _ in range(times)] for row in counts]
    )


matrices = st.integers(2, 5).flatmap(
    lambda raters: st.lists(
        st.lists(st.integers(MISSING, 4), min_size=raters, max_size=raters),
        min_size=2,
        max_size=25,
    )
)


def test_fleiss_kappa_of_a_printed_example():
    assert value(agreement.fleiss(spread(COUNTS), 5)) == pytest.approx(0.210, abs=5e-4)


@pytest.mark.parametrize(
    ("level", "printed"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_alpha_of_krippendorffs_own_example(level, printed):
    codes = coded([*zip(*OBSERVERS, strict=True)], [1, 2, 3, 4, 5])
    assert value(agreement.alpha(codes, 5, level)) == pytest.approx(printed, abs=5e-4)


@settings(max_examples=150, deadline=None)
@given(matrices, st.sampled_from(["nominal", "ordinal", "interval"]))
def test_alpha_agrees_with_the_package_krippendorff(rows, level):
    theirs = pytest.importorskip("krippendorff", reason="krippendorff is not installed")
    codes = np.array(rows)
    ours = value(agreement.alpha(codes, 5, level))
    pairable = codes[(codes != MISSING).sum(axis=1) >= 2]
    if len(np.unique(pairable[pairable != MISSING])) < 2:
        assert ours is None  # nothing differs, so nothing can be compared with chance
        return
    data = np.where(codes == MISSING, np.nan, codes).T
    expected = theirs.alpha(
        reliability_data=data, level_of_measurement=level, value_domain=[0, 1, 2, 3, 4]
    )
    assert ours == pytest.approx(expected, abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=60))
def test_cohens_kappa_agrees_with_scikit_learn_and_with_the_other_form(pairs):
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    ours = value(agreement.cohen(np.array(pairs), 4))
    if ours is None:
        assert len({*first, *second}) == 1
        return
    assert ours == pytest.approx(metrics.cohen_kappa_score(first, second), abs=1e-9)
    assert ours == pytest.approx(kappa([*map(str, first)], [*map(str, second)]), abs=1e-9)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(*[st.integers(0, 2)] * 2), min_size=2, max_size=40))
def test_fleiss_kappa_of_two_raters_is_scotts_pi(pairs):
    codes = np.array(pairs)
    ours = value(agreement.fleiss(codes, 3))
    shares = np.bincount(codes.ravel(), minlength=3) / codes.size
    chance = (shares**2).sum()
    if chance == 1:
        assert ours is None
    else:
        agreed = (codes[:, 0] == codes[:, 1]).mean()
        assert ours == pytest.approx((agreed - chance) / (1 - chance), abs=1e-9)


def test_percent_agreement_counts_pairs_of_ratings_and_ignores_missing_ones():
    codes = coded([["A", "A", "B"], ["C", None, "C"], ["D", None, None]], "ABCD")
    assert value(agreement.percent(codes, 4)) == pytest.approx(2 / 4)


def test_an_interval_is_seeded_and_holds_the_figure():
    rng = np.random.default_rng(7)
    truth = rng.integers(0, 4, size=120)
    codes = np.stack([np.where(rng.random(120) < 0.8, truth, 0) for _ in range(3)], axis=1)
    found = estimate(agreement.alpha(codes, 4, "nominal"), seed=3)
    assert found == estimate(agreement.alpha(codes, 4, "nominal"), seed=3)
    assert found.interval.low < found.value < found.interval.high
    assert found.interval != estimate(agreement.alpha(codes, 4, "nominal"), seed=4).interval


def test_the_bootstrap_resamples_items():
    """The same as computing the measure anew for each sample of rows."""
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 3, size=(40, 3))
    terms, formula = agreement.alpha(codes, 3, "ordinal")
    weights = rng.multinomial(40, np.full(40, 1 / 40), size=5)
    drawn = formula(weights.astype(float) @ terms)
    for weight, found in zip(weights, drawn, strict=True):
        again = np.repeat(codes, weight, axis=0)
        assert found == pytest.approx(value(agreement.alpha(again, 3, "ordinal")), abs=1e-9)


def test_what_is_not_defined_is_said_to_be_absent():
    same = np.zeros((5, 3), dtype=int)
    alone = np.array([[0, MISSING], [1, MISSING]])
    for codes in (same, alone):
        assert estimate(agreement.alpha(codes, 2, "nominal"), seed=0).value is None
        assert estimate(agreement.fleiss(codes, 2), seed=0).value is None
    assert estimate(agreement.percent(same, 2), seed=0).value == 1
    assert estimate(agreement.mean(np.array([])), seed=0).items == 0


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: coded([["A"], ["A", "B"]], "AB"),
        lambda: coded([["E"]], "ABCD"),
        lambda: agreement.cohen(np.zeros((2, 3), dtype=int), 2),
    ],
    ids=["ragged", "no category", "three raters"],
)
def test_ratings_that_cannot_be_compared_are_refused(wrong):
    with pytest.raises(ValueError, match=r"expected|none of|two raters"):
        wrong()
