"""Forgetting many turns at once: which go, what is left, and that it is one change."""

import sqlite3
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.streams import CUTTING, exported, stream
from tests.tsim.test_forget import SECRET, secretive, traces
from tsim import ForgetPreview, InputError, Memory, NewTurn
from tsim.forgetting import FAINT, OFFERED, near_the_best, offer
from tsim.types import Evidence, Hit, SpanWhy, Term, Turn, Why

DAY = 86_400.0
MAY = datetime(2026, 5, 1, tzinfo=UTC)


def dated(count: int) -> list[NewTurn]:
    """One turn a day from 1 May, every fifth without a time."""
    return [
        NewTurn(
            role=("user", "model", "tool")[n % 3],
            text=f"{turn.text} {SECRET.format(n)}.",
            at=MAY.timestamp() + n * DAY if n % 5 else None,
        )
        for n, turn in enumerate(stream(count))
    ]


@pytest.fixture
def memory(tmp_path, tiny_embedder, preset):
    with Memory.open(tmp_path / "memory.db", model=tiny_embedder, preset=preset) as memory:
        memory.thread("a").add_many(dated(40))
        memory.thread("b").add_many(dated(10))
        yield memory


def june(turn):
    return turn.at is not None and turn.at >= MAY.timestamp() + 31 * DAY


CHOICES = {
    "turns": ({"turns": [3, 4, 30]}, lambda t: t.id in (3, 4, 30)),
    "roles": ({"roles": ["tool"]}, lambda t: t.role == "tool"),
    "several roles": ({"roles": ["tool", "user"]}, lambda t: t.role in ("tool", "user")),
    "since": ({"since": datetime(2026, 6, 1, tzinfo=UTC)}, june),
    "since, as text": ({"since": "2026-06-01"}, june),
    "until": ({"until": "2026-06-01"}, lambda t: t.at is not None and not june(t)),
    "between, a role": (
        {"since": "2026-05-11", "until": MAY.timestamp() + 20 * DAY, "roles": ["user"]},
        lambda t: t.role == "user" and t.at and 10 <= (t.at - MAY.timestamp()) / DAY < 20,
    ),
}


@pytest.mark.parametrize(("choice", "matches"), CHOICES.values(), ids=CHOICES)
def test_exactly_the_chosen_turns_go_and_the_preview_knew(memory, tmp_path, choice, matches):
    thread = memory.thread("a")
    before = thread.turns()
    other = memory.thread("b").turns()
    expected = tuple(turn.id for turn in before if matches(turn))
    assert 1 < len(expected) < 40
    preview = thread.preview_forget(**choice)
    assert (preview.thread, preview.turns, len(preview)) == ("a", expected, len(expected))
    assert preview.lines[0].startswith(f"{before[expected[0]].role}: ")
    assert thread.turns() == before  # a preview removes nothing
    receipt = thread.forget(**choice)
    assert receipt.turns == expected
    assert receipt.scrubbed
    assert thread.turns() == [turn for turn in before if turn.id not in expected]
    assert memory.thread("b").turns() == other
    assert memory.verify().problems == ()
    for turn in expected:
        if turn >= 10:  # the turns of the other thread have the same secrets
            assert traces(tmp_path, SECRET.format(turn) + ".") == []


@CUTTING
@settings(
    deadline=None,
    max_examples=6,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(gone=st.sets(st.integers(0, 39), min_size=1))
def test_at_once_is_the_same_as_one_by_one(tmp_path_factory, tiny_embedder, preset, gone):
    directory = tmp_path_factory.mktemp("m")
    with (
        Memory.open(directory / "one.db", model=tiny_embedder, preset=preset) as one,
        Memory.open(directory / "all.db", model=tiny_embedder, preset=preset) as together,
    ):
        for memory in (one, together):
            memory.thread("a").add_many(stream(40, seed=5))
        for turn in sorted(gone):
            one.thread("a").forget(turn=turn)
        assert together.thread("a").forget(turns=gone).turns == tuple(sorted(gone))
        assert together.verify().problems == ()
        kept = [turn.id for turn in one.thread("a")]
        assert [turn.id for turn in together.thread("a")] == kept
        assert together.thread("a").episodes() == one.thread("a").episodes()
        if preset.name == "late":  # clusters merge in the order of changes
            ours = exported(together, directory / "all.jsonl")
            assert ours == exported(one, directory / "one.jsonl")


def test_one_transaction_and_one_scrub(memory, tmp_path):
    """The version of a thread counts the transactions of the file."""
    connection = sqlite3.connect(tmp_path / "memory.db")

    def clock():
        return connection.execute("SELECT now FROM clock").fetchone()[0]

    before = clock()
    memory.thread("a").forget(roles=["tool", "model"])
    assert clock() == before + 1
    connection.close()


def test_a_turn_that_is_missing_stops_all(memory):
    thread = memory.thread("a")
    before = thread.turns()
    for wrong in ({"turns": [1, 2, 99]}, {"turns": [1, 2**70]}, {"turns": [-1, 1]}):
        for work in (thread.forget, thread.preview_forget):
            with pytest.raises(InputError, match=r"there is no turn .*nothing was removed"):
                work(**wrong)
    assert thread.turns() == before


def test_choices_that_could_mean_two_things_are_refused(memory):
    thread = memory.thread("a")
    for wrong in (
        {},
        {"turn": 1, "turns": [2]},
        {"turns": [1], "roles": ["user"]},
        {"episode": 0, "until": "2026-06-01"},
    ):
        with pytest.raises(InputError, match=r"takes one of .* found "):
            thread.forget(**wrong)
    with pytest.raises(InputError, match="a query cannot be combined"):
        thread.preview_forget("bread", turns=[1])
    assert len(thread) == 40


def test_filters_that_nothing_passes_remove_nothing_and_may_be_repeated(memory, tmp_path):
    thread = memory.thread("a")
    for _ in range(2):
        assert thread.forget(until="1999-01-01").turns == ()
        assert thread.preview_forget(roles=["nobody"]).turns == ()
        assert thread.preview_forget("bread", roles=["nobody"]).turns == ()
    assert thread.forget(roles=["tool"]).turns
    assert thread.forget(roles=["tool"]).turns == ()
    assert len(thread) == 27


def test_what_a_query_finds_is_shown_first_and_then_forgotten(memory, preset):
    thread = memory.thread("a")
    thread.add("user", "xylophone zebra quartz")
    hits = thread.search("xylophone zebra", min_relevance=0)
    preview = thread.preview_forget("xylophone zebra", min_relevance=0)
    assert len(preview) == min(len(hits), OFFERED)
    assert all(
        turn in {one.id for one in hit.turns}
        for turn, hit in zip(preview.turns, hits, strict=False)
    )
    assert 40 in preview.turns
    users = thread.preview_forget("xylophone zebra", roles=["user"], min_relevance=0)
    assert {thread.turns(after=turn - 1, limit=1)[0].role for turn in users.turns} == {"user"}
    assert thread.forget(turns=users.turns).turns == tuple(sorted(users.turns))
    assert not {*users.turns} & {turn.id for turn in thread}


def test_a_question_offers_few_turns_the_best_first(memory, preset):
    thread = memory.thread("a")
    thread.add("user", "xylophone zebra quartz")
    thread.add_many([("user", f"{turn.text} {n}") for n, turn in enumerate(stream(30, seed=2))])
    found = sum(len(hit.turns) for hit in thread.search("xylophone zebra quartz"))
    preview = thread.preview_forget("xylophone zebra quartz")
    assert preview.turns[0] == 40
    assert preview.lines[0] == "user: xylophone zebra quartz"
    assert len(preview) <= OFFERED < found
    if preset.name == "late":
        assert preview.relevances is not None
        assert [*preview.relevances] == sorted(preview.relevances, reverse=True)
        assert len(preview.relevances) == len(preview)
        assert preview.relevances[-1] * FAINT >= preview.relevances[0]
    else:
        assert preview.relevances is None
    assert thread.preview_forget(turns=[40]).relevances is None
    assert thread.forget(turns=preview.turns[:1]).turns == (40,)


def hit(score: float, *turns: int, why: Why | SpanWhy) -> Hit:
    said = tuple(Turn(id=turn, role="user", text=f"t{turn}") for turn in turns)
    relevance = score if isinstance(why, SpanWhy) else None
    return Hit(episode=0, turns=said, score=score, why=why, relevance=relevance)


def evidence(term: Term, turn: int, points: float) -> Evidence:
    return Evidence(term=term, id=turn, similarity=points, points=points)


def test_of_each_hit_the_turn_that_it_was_chosen_for_is_offered():
    span = SpanWhy(anchor=5, dense=1, lexical=1, share=1)
    assert offer("a", [hit(0.5, 4, 5, 6, why=span)]).turns == (5,)
    cut = hit(0.5, 3, 4, why=span)  # the anchor was cut off
    assert offer("a", [cut]).turns == (3,)
    raw = (
        evidence(Term.SUMMARY, 4, 9.0),
        evidence(Term.RAW, 9, 3.0),  # not shown
        evidence(Term.RAW, 6, 1.0),
        evidence(Term.RAW, 5, 2.0),
    )
    assert offer("a", [hit(0.5, 4, 5, 6, why=Why(evidence=raw))]).turns == (5,)
    assert offer("a", [hit(0.5, 4, 5, 6, why=Why())]).turns == (4,)
    many = offer("a", [hit(0.5, n, why=replace(span, anchor=n)) for n in range(30)])
    assert many.turns == tuple(range(OFFERED))
    assert many.relevances == (0.5,) * OFFERED
    assert offer("a", []) == ForgetPreview(thread="a")
    hits = [hit(score, 1, why=span) for score in (0.8, 0.08, 0.07)]
    assert near_the_best(hits) == hits[:2]
    assert near_the_best([]) == []
    worst = [hit(-0.1, 1, why=Why())]  # scores may be below 0
    assert near_the_best(worst) == worst


def test_forgetting_every_turn_leaves_a_thread_that_goes_on(tmp_path, tiny_embedder, preset):
    with Memory.open(tmp_path / "m.db", model=tiny_embedder, preset=preset) as memory:
        thread = memory.thread("a")
        thread.add_many(secretive(30))
        assert len(thread.forget(turns=range(30)).turns) == 30
        assert len(thread) == 0
        assert all(not traces(tmp_path, SECRET.format(n) + ".") for n in range(30))
        assert memory.verify().problems == ()
        assert thread.add("user", "bread").turn == 30
