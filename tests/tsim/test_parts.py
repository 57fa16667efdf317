"""The small pure parts, each by itself."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsim import tokens, toolkit
from tsim.assemble import WindowSettings, fit, render, window
from tsim.index import DenseIndex, dense
from tsim.segment import Arrival, DriftRule, cuts
from tsim.types import Evidence, Hit, Term, Turn, Why
from tsim.vectors import best, unit

DRIFT = DriftRule(
    min_similarity=0.7,
    min_tokens=120,
    max_tokens=320,
    recent_turns=4,
    user_after_model_bonus=0.03,
)
X, Y = np.eye(2, dtype=np.float32)


def feed(*turns):
    """Takes (role, words, vector); returns where cuts fell."""
    arrivals = [Arrival(role=role, words=words, vector=vector) for role, words, vector in turns]
    return [place for place, cut in enumerate(cuts(DRIFT, arrivals)) if cut]


def test_drift_cuts_only_after_the_minimum_length():
    assert feed(("user", 50, X), ("model", 40, X), ("user", 10, Y)) == [0]
    assert feed(("user", 50, X), ("model", 43, X), ("user", 10, Y)) == [0, 2]


def test_the_maximum_length_cuts_without_drift():
    assert feed(("user", 200, X), ("model", 45, X), ("user", 10, X)) == [0]
    assert feed(("user", 200, X), ("model", 46, X), ("user", 10, X)) == [0, 2]


def test_an_episode_has_at_least_two_turns():
    assert feed(("user", 900, X), ("model", 900, Y), ("user", 1, X)) == [0, 2]


@pytest.mark.parametrize(("before", "after"), [("model", "user"), ("assistant", "user")])
def test_an_answered_user_gets_the_bonus(before, after):
    near = unit(np.array([[0.69, np.sqrt(1 - 0.69**2)]], dtype=np.float32))[0]
    assert feed(("user", 60, X), (before, 60, X), (after, 1, near)) == [0]
    assert feed(("user", 60, X), ("user", 60, X), (after, 1, near)) == [0, 2]
    assert feed(("user", 60, X), (before, 60, X), ("tool", 1, near)) == [0, 2]


def test_only_the_recent_turns_make_the_centre():
    early = [("user", 20, Y)] * 3
    late = [("user", 20, X)] * 4
    assert feed(*early, *late, ("user", 1, X)) == [0]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["user", "model", "tool"]), st.integers(1, 90), st.sampled_from([X, Y])
        ),
        min_size=1,
    )
)
def test_the_state_of_a_rule_follows_from_the_open_episode(turns):
    arrivals = [Arrival(role=role, words=words, vector=vector) for role, words, vector in turns]
    expected = cuts(DRIFT, arrivals)
    first = 0  # of the open episode
    for place, turn in enumerate(arrivals):
        step = DRIFT.advance(DRIFT.resume(arrivals[first:place]), turn)
        assert step.cut == expected[place]
        first = place if step.cut else first


@given(st.lists(st.floats(-1, 1, width=32), max_size=60), st.integers(0, 70))
def test_best_is_a_sort_by_score_then_place(scores, count):
    array = np.array(scores, dtype=np.float32)
    expected = sorted(range(len(scores)), key=lambda i: (-array[i], i))[:count]
    assert best(array, count) == expected


@given(st.integers(0, 5000), st.lists(st.integers(1, 2500), max_size=5), st.integers(0, 2**31))
def test_rows_score_the_same_however_they_were_added(first, sizes, seed):
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(first + sum(sizes), 8)).astype(np.float32)
    grown = DenseIndex(8, vectors[:first])
    start = first
    for size in sizes:
        grown.extend(vectors[start : start + size])
        start += size
    query = rng.normal(size=8).astype(np.float32)
    scores = grown.scores(query)
    assert scores.tobytes() == DenseIndex(8, vectors).scores(query).tobytes()
    np.testing.assert_allclose(scores, vectors @ query, atol=1e-5)


@pytest.mark.parametrize("one_thread", [0, 1_000_000])
def test_scans_that_were_begun_together_may_be_finished_in_any_order(monkeypatch, one_thread):
    monkeypatch.setattr(dense, "ONE_THREAD", one_thread)
    vectors = np.random.default_rng(2).normal(size=(9000, 8)).astype(np.float32)
    matrices = [DenseIndex(8, vectors), DenseIndex(8, vectors[:5000]), DenseIndex(8)]
    queries = vectors[:3]
    begun = [rows.scanning(query) for rows in matrices for query in queries]
    expected = [np.vecdot(vectors[: len(rows)], query) for rows in matrices for query in queries]
    for finish, scores in reversed([*zip(begun, expected, strict=True)]):
        assert finish().tobytes() == scores.tobytes()


def test_a_deleted_row_leaves_what_would_be_there_without_it():
    full = dense.BLOCK
    vectors = np.random.default_rng(1).normal(size=(2 * full + 4, 4)).astype(np.float32)
    for gone in (0, full - 1, full, 2 * full + 3):
        rows = DenseIndex(4, vectors)
        rows.delete(gone)
        rows.extend(vectors[:3])
        left = np.concatenate([np.delete(vectors, gone, axis=0), vectors[:3]])
        assert rows.take(range(len(rows))).tobytes() == left.tobytes()
        with pytest.raises(IndexError):
            rows[len(left)]


def test_a_long_episode_shows_the_window_that_resembles_the_query_most():
    settings = WindowSettings(turns=8, overlap=2)
    assert window(settings, [0.0] * 8) == (0, 8)
    assert window(settings, [0.0] * 20) == (0, 8)
    assert window(settings, [0.0] * 13 + [1.0] + [0.0] * 6) == (6, 14)
    assert window(settings, [0.0] * 19 + [1.0]) == (12, 20)


def hit(episode: int, *texts: str, strongest: int = 0) -> Hit:
    turns = tuple(Turn(id=10 * episode + n, role="user", text=t) for n, t in enumerate(texts))
    evidence = Evidence(term=Term.RAW, id=10 * episode + strongest, similarity=1, points=1)
    return Hit(episode=episode, turns=turns, score=1, why=Why(evidence=(evidence,)))


def test_hits_that_do_not_fit_are_passed_over():
    hits = [hit(1, "a " * 20), hit(2, "b " * 90), hit(3, "c " * 20)]
    assert [h.episode for h in fit(hits, 80, tokens.WORDS)] == [1, 3]
    assert fit(hits, None, tokens.WORDS) == hits


def test_a_best_hit_that_is_too_long_is_cut_down_around_its_strongest_turn():
    long = hit(1, *(f"t{n} " * 20 for n in range(6)), strongest=3)
    (kept,) = fit([long], 90, tokens.WORDS)
    assert [turn.id for turn in kept.turns] == [12, 13, 14]
    (single,) = fit([hit(1, "word " * 500)], 60, tokens.WORDS)
    assert render([single]).endswith("word …")
    assert len(render([single]).split()) * 1.3 <= 60


def test_a_turn_that_is_far_too_long_is_not_written_as_a_whole():
    """Writing megabytes takes seconds, and is done for every length that is tried."""
    written = []

    def arrange(some):
        written.extend(turn for one in some for turn in one.turns if turn.shown is None)
        return list(some)

    (kept,) = fit([hit(1, "a\n" * 100_000 + "b")], 60, tokens.WORDS, arrange=arrange)
    assert kept.turns[0].shown
    assert written == []


@given(
    st.lists(st.integers(1, 12), min_size=2, max_size=9),
    st.integers(0, 8),
    st.integers(4, 60),
    st.sampled_from([tokens.WORDS, tokens.ESTIMATE]),
)
def test_a_hit_is_cut_down_as_if_turn_after_turn_were_tried(words, strongest, budget, measure):
    strongest %= len(words)
    long = hit(1, *("word " * count for count in words), strongest=strongest)

    def fits(first, last):
        text = render([replace(long, turns=long.turns[first : last + 1])])
        return measure.size(text) <= measure.room(budget)

    first = last = strongest
    for _ in words:
        if last + 1 < len(words) and fits(first, last + 1):
            last += 1
        if first and fits(first - 1, last):
            first -= 1
    if fits(strongest, strongest):
        (kept,) = fit([long], budget, measure)
        assert kept.turns == long.turns[first : last + 1]


def test_a_context_names_its_episodes_and_speakers():
    text = render([hit(4, "one", "two"), hit(2, "three")])
    assert text == ("[40-41]\nuser: one\nuser: two\n\n[20]\nuser: three")


def test_the_toolkit_says_what_each_of_its_parts_is_for():
    for name in toolkit.__all__:
        assert f"`{name}`" in toolkit.__doc__
