"""Filters: only turns of some times and speakers can be returned, and they use the whole budget."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.streams import PRESETS, stream
from tsim import LATE, LONGMEMEVAL, OFFICIAL, Memory, NewTurn
from tsim.engine import Query
from tsim.engine.late.scoring import masses, score
from tsim.errors import InputError
from tsim.filter import Filter, make_filter
from tsim.times import before, seconds

COUNT = 120
MAY = datetime(2024, 5, 3, tzinfo=UTC)


@pytest.fixture(scope="module")
def threads(tmp_path_factory, tiny_embedder):
    """The same thread in a memory of each preset; every third turn has no time."""
    found = {}
    opened = []
    for preset in (LATE, OFFICIAL, LONGMEMEVAL):
        path = tmp_path_factory.mktemp("filters") / "m.db"
        memory = Memory.open(path, model=tiny_embedder, preset=preset)
        opened.append(memory)
        found[preset.name] = memory.thread("a")
        found[preset.name].add_many(stream(COUNT))
    yield found
    for memory in opened:
        memory.close()


def passes(turn, only):
    if only.since is not None and (turn.at is None or turn.at < only.since):
        return False
    if only.until is not None and (turn.at is None or turn.at >= only.until):
        return False
    return only.roles is None or turn.role in only.roles


def shown(hits):
    return [turn for hit in hits for turn in hit.turns]


@PRESETS
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    since=st.none() | st.integers(0, COUNT),
    length=st.none() | st.integers(1, COUNT),
    roles=st.none() | st.lists(st.sampled_from(["user", "model", "tool", "nobody"]), min_size=1),
    budget=st.sampled_from([60, 200, 2000, 100_000]),
)
def test_only_turns_that_pass_are_returned(threads, preset, since, length, roles, budget):
    until = None if length is None else (since or 0) + length
    only = make_filter(since=since, until=until, roles=roles)
    thread = threads[preset.name]
    hits = thread.search(
        "the budget rule",
        k=COUNT,
        budget=budget,
        min_relevance=0,
        since=since,
        until=until,
        roles=roles,
    )
    found = shown(hits)
    assert all(passes(turn, only) for turn in found)
    assert len({turn.id for turn in found}) == len(found)
    allowed = [turn for turn in thread.turns() if passes(turn, only)]
    assert bool(found) == bool(allowed)
    if preset is LATE and budget == 100_000:
        assert sorted(turn.id for turn in found) == [turn.id for turn in allowed]


@PRESETS
def test_a_filter_that_leaves_nothing_out_changes_nothing(threads, preset):
    thread = threads[preset.name]
    for query in ("the budget rule", "letter", "one gpu only"):
        every = thread.search(query, roles=["user", "model", "tool"])
        assert every == thread.search(query)
        assert thread.context(query) == thread.context(query, roles=["tool", "model", "user"])


@PRESETS
def test_turns_without_a_time_are_left_out_by_a_filter_of_times(threads, preset):
    found = shown(threads[preset.name].search("letter", since=-1e9, budget=100_000, k=COUNT))
    assert found
    assert all(turn.at is not None for turn in found)


@PRESETS
def test_turns_added_after_a_filtered_search_are_filtered_too(tmp_path, tiny_embedder, preset):
    with Memory.open(tmp_path / "m.db", model=tiny_embedder, preset=preset) as memory:
        thread, other = memory.thread("a"), memory.thread("a")
        for number in range(30):
            (thread, other)[number % 2].add("user", f"the budget rule {number}", at=number)
            found = shown(thread.search("the budget rule", since=number, min_relevance=0))
            assert [turn.id for turn in found] == [number]
        thread.forget(turn=29)
        assert thread.search("the budget rule", since=29, min_relevance=0) == []
        assert [t.id for t in shown(thread.search("rule", since=28, min_relevance=0))] == [28]


def test_the_budget_goes_to_what_passes(tmp_path, tiny_embedder):
    """What matches better, but does not pass, takes no place in the context."""
    turns = [NewTurn(role="model", text="the budget rule says one gpu", at=n) for n in range(50)]
    turns.append(NewTurn(role="user", text="bread and train", at=50))
    with Memory.open(tmp_path / "m.db", model=tiny_embedder) as memory:
        thread = memory.thread("a")
        thread.add_many(turns)
        asked = {"budget": 40, "min_relevance": 0}
        assert "bread" not in thread.context("the budget rule", **asked)
        assert "bread" in thread.context("the budget rule", **asked, roles=["user"])
        assert "bread" in thread.context("the budget rule", **asked, since=50)


def test_relevance_is_among_what_passes(tmp_path, minilm):
    """A turn that passes alone is not less relevant for what was left out."""
    turns = [("user", "My dentist is Dr. Brandt in Lindenstraße.", 1.0)] + [
        ("model", f"Dr. Brandt the dentist has a free hour at {n} o'clock.", 100.0 + n)
        for n in range(20)
    ]
    with Memory.open(tmp_path / "m.db", model=minilm) as memory:
        thread = memory.thread("a")
        thread.add_many(turns)
        (alone,) = thread.search("Who is my dentist?", until=50)
        assert [turn.id for turn in alone.turns] == [0]
        share = {h.turns[0].id: h.relevance for h in thread.search("Who is my dentist?", budget=40)}
        assert alone.relevance > share.get(0, 0.0)


def test_times_are_read_in_every_form():
    assert seconds(MAY, "since") == seconds("2024-05-03", "since") == MAY.timestamp()
    assert seconds(MAY.timestamp(), "since") == MAY.timestamp()
    assert seconds("2024-05-03T02:00+02:00", "since") == MAY.timestamp()
    assert seconds("2024-05-03T00:00:00Z", "since") == MAY.timestamp()
    east = MAY.astimezone(timezone(timedelta(hours=9)))
    assert seconds(east, "since") == MAY.timestamp()
    assert before("7d", MAY) == MAY - timedelta(days=7)
    assert before("2 w", MAY) == MAY - timedelta(days=14)
    assert before("90min", MAY) == before("90min", east) == MAY - timedelta(minutes=90)
    assert before("2024-05-03", MAY) == "2024-05-03"
    assert before("1714694400", MAY) == 1714694400.0
    assert before(" now", east) is east
    assert seconds(MAY.date(), "since") == MAY.timestamp()
    with pytest.raises(InputError, match="between the years 1 and 9999"):
        make_filter(since=before("999999w", MAY))
    assert not make_filter()
    assert make_filter(roles=["user", "user"]) == Filter(roles=frozenset({"user"}))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"since": "yesterday-ish"}, "since='yesterday-ish' is not a time; pass"),
        ({"until": float("nan")}, "until=nan is not a time"),
        ({"until": 1e30}, "is not a time"),
        ({"since": True}, "since=True is not a time"),
        ({"since": [1]}, "is not a time"),
        ({"since": datetime(2024, 5, 3)}, "has no time zone; add one"),  # noqa: DTZ001
        ({"since": 5, "until": 5}, "since=5 is not before until=5"),
        ({"roles": "user"}, "roles='user' is not a list of names; pass roles="),
        ({"roles": [1]}, "is not a list of names"),
        ({"roles": []}, "roles is empty"),
    ],
)
def test_wrong_filters_are_refused(threads, wrong, message):
    with pytest.raises(InputError, match=message):
        threads["late"].search("letter", **wrong)
    with pytest.raises(InputError, match=message):
        threads["official"].context("letter", **wrong)


VALUES = ["ops", "1", 1, 1.0, True, 0, False, None, 0.5, "null"]


def equal(one, two):
    """As JSON has it: truth values are not numbers."""
    return one == two and isinstance(one, bool) == isinstance(two, bool)


@PRESETS
def test_only_turns_with_the_given_meta_are_returned(tmp_path, tiny_embedder, preset):
    turns = [
        replace(turn, meta={"v": VALUES[n % 10], "third": n // 10 % 3} if n < 100 else None)
        for n, turn in enumerate(stream(COUNT))
    ]
    with Memory.open(tmp_path / "m.db", model=tiny_embedder, preset=preset) as memory:
        thread = memory.thread("a")
        thread.add_many(turns)
        for wanted in [*({"v": value} for value in VALUES), {"v": 1, "third": 2}, {"w": 1}]:
            hits = thread.search("letter", meta=wanted, k=COUNT, budget=100_000, min_relevance=0)
            allowed = [
                place
                for place, turn in enumerate(turns)
                if all(k in (turn.meta or {}) and equal(turn.meta[k], wanted[k]) for k in wanted)
            ]
            found = sorted(turn.id for turn in shown(hits))
            assert {*found} <= {*allowed}
            assert bool(found) == bool(allowed)
            if preset is LATE:
                assert found == allowed
        assert "[10" not in thread.context("letter", meta={"v": "ops"}, since=200, min_relevance=0)


@pytest.mark.parametrize("meta", [{}, "ops", {"x": [1]}, {1: "x"}, ["x"]])
def test_meta_that_no_turn_can_have_is_refused(threads, meta):
    with pytest.raises(InputError, match="meta"):
        threads["late"].search("letter", meta=meta)


@pytest.mark.parametrize("roles", [None, ["user"], ["model", "tool"]])
def test_what_runs_hold_is_in_the_turns_that_pass(threads, roles):
    thread = threads["late"]
    thread.search("the budget rule")
    engine, host = thread._engine, thread._host(thread._store)
    _, seen = engine.observe(Query(text="the budget rule", only=make_filter(roles=roles)), host)
    scores = score(engine.settings.fitted, seen)
    held = masses(scores, [[place] for place, passed in enumerate(seen.eligible) if passed])
    assert sum(held) == pytest.approx(1)
