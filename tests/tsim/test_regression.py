"""The regressions that fit weights."""

from dataclasses import replace

import numpy as np
import pytest

from tsim.regression import Group, logistic, softmax_regression


def sampled(seed=0, count=40_000):
    """Rows, and answers drawn from a known logistic model."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, 3)) * [1.0, 5.0, 0.2] + [0.0, 3.0, -1.0]
    odds = rows @ [1.5, -0.4, 3.0] + 2.0
    y = (rng.uniform(size=count) < 1 / (1 + np.exp(-odds))).astype(float)
    return rows, y


def test_a_logistic_regression_recovers_known_weights():
    rows, y = sampled()
    found = logistic(rows, y, np.ones(len(y)), ridge=1e-6)
    assert found == pytest.approx([1.5, -0.4, 3.0, 2.0], abs=0.15)
    assert found == logistic(rows, y, np.full(len(y), 7.0), ridge=1e-6), "only ratios count"


def test_a_weight_of_two_is_a_row_that_occurs_twice():
    rows, y = sampled(count=500)
    weights = np.where(np.arange(500) < 100, 2.0, 1.0)
    twice = logistic(rows, y, weights, ridge=0.0)
    both = logistic(
        np.concatenate([rows, rows[:100]]), np.append(y, y[:100]), np.ones(600), ridge=0.0
    )
    assert twice == pytest.approx(both, rel=1e-4)


def test_a_penalty_keeps_separable_weights_finite_and_shrinks_others():
    rows = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    y = np.array([0.0, 0.0, 1.0, 1.0])
    strong, weak = (logistic(rows, y, np.ones(4), ridge=ridge) for ridge in (1.0, 1e-3))
    assert 0 < strong[0] < weak[0] < 100
    rows = np.c_[rows, np.ones(4)]  # a column that never varies
    assert np.isfinite(logistic(rows, y, np.ones(4), ridge=1e-3)).all()


def grouped(seed=0, count=3000, right=1):
    """Groups of ten rows of which one is chosen by a known softmax; `right` rows then count."""
    rng = np.random.default_rng(seed)
    groups = []
    for _ in range(count):
        rows = rng.normal(size=(10, 3)) * [1.0, 2.0, 0.5]
        powers = np.exp(rows @ [1.0, -0.5, 2.0])
        chosen = rng.choice(10, p=powers / powers.sum())
        rewards = np.zeros(10)
        rewards[chosen] = 1.0
        rewards[rng.choice(10, size=right - 1, replace=False)] = 1.0
        groups.append(Group(rows=rows, rewards=rewards, offsets=np.zeros(10), weight=1.0))
    return groups


def test_a_softmax_regression_recovers_known_weights():
    found = softmax_regression(grouped(), ridge=1e-3)
    assert found == pytest.approx([1.0, -0.5, 2.0], abs=0.1)
    assert found == softmax_regression(grouped(), ridge=1e-3)


def test_groups_with_several_right_rows_favour_the_likely_ones():
    found = softmax_regression(grouped(right=2), ridge=1e-3)
    assert found[0] > 0.5
    assert found[1] < -0.2
    assert found[2] > 1.0


def test_groups_count_by_their_weight():
    usual, opposed = grouped(count=400), grouped(seed=1, count=400)
    against = [replace(group, rows=-group.rows, weight=0.01) for group in opposed]
    found = softmax_regression([*usual, *against], ridge=1e-3)
    assert found == pytest.approx([1.0, -0.5, 2.0], abs=0.3)


def test_a_row_may_stand_for_many_candidates():
    rng = np.random.default_rng(3)
    every, some = [], []
    for group in grouped(count=300):
        wrong = np.flatnonzero(group.rewards == 0)
        dropped = rng.choice(wrong, size=len(wrong) // 2, replace=False)
        kept = np.setdiff1d(np.arange(10), dropped)
        copies = np.where(group.rewards > 0, 1, 2)[kept]
        every.append(sampled_group(group, np.repeat(kept, copies), np.zeros(copies.sum())))
        some.append(sampled_group(group, kept, np.log(copies)))
    expected = softmax_regression(every, ridge=0.0)
    assert softmax_regression(some, ridge=0.0) == pytest.approx(expected, rel=1e-2)


def sampled_group(group, rows, offsets):
    return replace(group, rows=group.rows[rows], rewards=group.rewards[rows], offsets=offsets)


def test_candidates_with_higher_rewards_are_preferred():
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    for rewards, better in (([1.0, 0.1, 0.0], 0), ([0.1, 1.0, 0.0], 1)):
        group = Group(rows=rows, rewards=np.array(rewards), offsets=np.zeros(3), weight=1.0)
        found = softmax_regression([group] * 5, ridge=1e-1)
        assert found[better] > found[1 - better]


def test_separable_groups_have_finite_weights():
    rows = np.array([[1.0, 0.0], [0.0, 0.0]])
    rewards = np.array([1.0, 0.0])
    group = Group(rows=rows, rewards=rewards, offsets=np.zeros(2), weight=1.0)
    found = softmax_regression([group] * 5, ridge=1e-2)
    assert found[0] > 1
    assert np.isfinite(found).all()
    assert found[1] == pytest.approx(0.0)
