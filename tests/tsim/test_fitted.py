"""Files of fitted weights, and the regressions that fit them."""

import json
from importlib import resources

import numpy as np
import pytest

from tsim.errors import InputError
from tsim.fitted import GROUPS, UNFITTED, apply, describe, load, parse, read
from tsim.fitting import logistic, softmax_regression
from tsim.presets import LATE, UNFITTED_LATE

MODEL = "all-MiniLM-L6-v2"


def content():
    return json.loads((resources.files("tsim.fitted") / f"{MODEL}.json").read_bytes())


def changed(*path, value=None):
    out = content()
    *groups, last = path
    inner = out
    for group in groups:
        inner = inner[group]
    if value is None:
        del inner[last]
    else:
        inner[last] = value
    return json.dumps(out).encode()


def test_shipped_weights_are_those_of_the_preset():
    weights = load(MODEL)
    assert weights.model == MODEL
    assert len(weights.fitted_on) == 64
    assert apply(UNFITTED_LATE, weights) == LATE.settings
    assert LATE.settings.fitted != UNFITTED
    assert 0 < LATE.settings.fitted.min_relevance < 1


def test_weights_are_written_as_they_were_read():
    weights = load(MODEL)
    settings = apply(UNFITTED_LATE, weights)
    written = describe(settings, model=weights.model, fitted_on=weights.fitted_on)
    assert parse(written, MODEL) == weights


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        (b"", "not a file of fitted weights"),
        (b"{", "not a file of fitted weights"),
        (b"[1, 2]", "not a file of fitted weights"),
        (b"\xff\xfe", "not a file of fitted weights"),
        (changed("extension"), "Field required"),
        (changed("relevance"), "Field required"),
        (changed("surplus", value=1.0), "Extra inputs are not permitted"),
        (changed("run", "cosine", value="much"), "valid number"),
        (changed("run", "cosine", value=float("nan")), "finite number"),
        (changed("turn", "words", value=float("inf")), "finite number"),
        (changed("min_relevance", value=float("nan")), "finite number"),
        (changed("boundary", "bias", value=float("-inf")), "finite number"),
        (changed("run", "cosine"), r"other features \(run: \['cosine'\]\)"),
        (changed("turn", "mood", value=1.0), r"other features \(turn: \['mood'\]\)"),
        (changed("passing", "bias"), r"other features \(passing: \['bias'\]\)"),
        (changed("relevance", "mass"), r"other features \(relevance: \['mass'\]\)"),
        (changed("boundary", "user_weight"), r"other features \(boundary: \['user_weight'\]\)"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_with_the_reason(tmp_path, broken, problem):
    path = tmp_path / "weights.json"
    path.write_bytes(broken)
    for attempt in (lambda: parse(broken, str(path)), lambda: read(path)):
        with pytest.raises(InputError, match=problem) as caught:
            attempt()
        assert str(path) in str(caught.value)
        assert "scaleqa fit" in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match=r"nowhere\.json cannot be read: No such file"):
        read(tmp_path / "nowhere.json")


def test_the_order_of_names_in_a_file_does_not_matter():
    shuffled = content()
    for group in GROUPS:
        shuffled[group] = dict(reversed(shuffled[group].items()))
    weights = parse(json.dumps(shuffled).encode(), "shuffled")
    assert apply(UNFITTED_LATE, weights) == LATE.settings


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


def test_an_offset_is_a_part_of_the_odds_that_is_known():
    rows, y = sampled()
    found = logistic(rows[:, :2], y, np.ones(len(y)), ridge=1e-6, offset=3.0 * rows[:, 2])
    assert found == pytest.approx([1.5, -0.4, 2.0], abs=0.15)


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
        flags = np.zeros(10, dtype=bool)
        flags[chosen] = True
        flags[rng.choice(10, size=right - 1, replace=False)] = True
        groups.append((rows, flags, 1.0))
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
    against = [(-rows, flags, 0.01) for rows, flags, _ in opposed]
    found = softmax_regression([*usual, *against], ridge=1e-3)
    assert found == pytest.approx([1.0, -0.5, 2.0], abs=0.3)


def test_weights_that_are_given_are_kept_and_the_others_fitted_beside_them():
    found = softmax_regression(grouped(), ridge=1e-3, fixed={1: -0.5})
    assert found[1] == -0.5
    assert found == pytest.approx([1.0, -0.5, 2.0], abs=0.1)
    wrong = softmax_regression(grouped(), ridge=1e-3, fixed={1: 0.0})
    assert wrong[1] == 0.0
    assert wrong[0] < found[0], "what a column explains cannot be had from the others"


def test_separable_groups_have_finite_weights():
    rows = np.array([[1.0, 0.0], [0.0, 0.0]])
    groups = [(rows, np.array([True, False]), 1.0)] * 5
    found = softmax_regression(groups, ridge=1e-2)
    assert found[0] > 1
    assert np.isfinite(found).all()
    assert found[1] == pytest.approx(0.0)
