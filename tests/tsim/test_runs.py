"""Runs of turns depend on the turns alone: not on batches, forgotten turns, writers or restarts."""

import random
from collections import Counter
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.feed import WIDTH, Feed, embed, relaxed, streams
from tests.support.streams import exported
from tsim import LATE, LIGHT, Memory
from tsim.store import SqliteStore

some = settings(
    deadline=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


class Hashed:
    """Vectors from the bytes of texts; counts what it embeds."""

    identity, dimension = "hashed", WIDTH

    def __init__(self):
        self.embedded = []

    def embed(self, texts):
        self.embedded += texts
        return embed(texts)

    def embed_query(self, text):
        return embed([text])[0]


def talk(count, seed=0):
    """Turns of all lengths, some longer than any run may be."""
    rng = random.Random(seed)
    return [
        (
            rng.choice(["user", "model", "tool"]),
            " ".join(f"w{rng.randrange(90)}" for _ in range(rng.choice([1, 4, 9, 20, 70, 250])))
            + rng.choice(["", "?"]),
        )
        for _ in range(count)
    ]


@contextmanager
def opened(path, preset=LATE):
    with closing(SqliteStore(path)) as store:
        memory = Memory(store, Hashed(), preset)
        yield store, memory.thread("a")


def stored(store, thread):
    """Returns the texts of all stored runs, with the bytes of their vectors."""
    turns = thread.turns()
    place = {turn.id: n for n, turn in enumerate(turns)}
    return Counter(
        (
            "\n".join(turn.text for turn in turns[place[row.first] : place[row.last] + 1]),
            row.vector.tobytes(),
        )
        for row in store.load("a").spans
    )


def fresh(path, turns):
    """Returns the runs of a memory that has only ever had these turns."""
    with opened(path) as (store, thread):
        thread.add_many([(turn.role, turn.text) for turn in turns])
        return stored(store, thread)


def spans(feed):
    """Returns the runs that an engine wrote, by their turns."""
    return {key: vector.tobytes() for key, vector in feed.spans.items()}


@relaxed
@given(stream=streams, cuts=st.sets(st.integers(1, 59)))
def test_runs_do_not_depend_on_batches(stream, cuts):
    whole, single, pieces = Feed(LATE), Feed(LATE), Feed(LATE)
    whole.add(stream)
    for turn in stream:
        single.add([turn])
    edges = [0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]
    for first, last in pairwise(edges):
        pieces.add(stream[first:last])
        pieces.search("w3 w7")  # which brings the index up to date
    assert spans(whole) == spans(single) == spans(pieces)
    for (first, last), vector in whole.spans.items():
        text = "\n".join(text for _, text in stream[first : last + 1])
        assert vector.tobytes() == embed([text])[0].tobytes()
    found = [feed.search("w3 w7 of W9", budget=300) for feed in (whole, single, pieces)]
    assert found[0] == found[1] == found[2]


def test_long_threads_have_the_same_runs_in_chunks_and_turn_by_turn(tmp_path):
    turns = talk(1300)
    contents = []
    for size in (1300, 512, 100, 1):
        with opened(tmp_path / f"{size}.db") as (store, thread):
            for first in range(0, len(turns), size):
                thread.add_many(turns[first : first + size])
            contents.append((stored(store, thread), thread.search("w3 w7?", min_relevance=0)))
    assert contents[0][0].total() > 100
    assert all(content == contents[0] for content in contents)


def test_runs_of_one_turn_and_longer_ones_than_allowed_are_not_embedded(tmp_path):
    limits = LATE.settings.runs
    with opened(tmp_path / "m.db") as (store, thread):
        thread.add_many(talk(300))
        words = [len(f"{turn.role}: {turn.text}".split()) for turn in thread.turns()]
        rows = store.load("a").spans
    assert rows
    for row in rows:
        assert 2 <= row.last - row.first + 1 <= limits.max_turns
        assert sum(words[row.first : row.last + 1]) <= limits.max_words


def test_each_turn_is_in_one_embedded_run_at_most_and_longer_ones_consist_of_these(tmp_path):
    with opened(tmp_path / "m.db") as (_, thread):
        turns = talk(300, seed=5)
        thread.add_many(turns)
        thread.search("w3")
        index = thread._engine.index
    embedded, joined = sorted(index.runs.embedded), sorted(index.runs.joined)
    assert embedded and joined
    assert all(one[1] <= after[0] for one, after in pairwise(embedded))
    inside = {place for begin, end in embedded for place in range(begin + 1, end)}
    for begin, end in joined:
        assert not {begin, end} & inside, "a piece was cut"
        assert end - begin <= LATE.settings.runs.max_turns
        assert sum(index.lengths[begin:end]) <= LATE.settings.runs.max_words


@some
@given(
    steps=st.lists(st.one_of(st.none(), st.integers(0, 70)), max_size=14),
    seed=st.integers(0, 5),
)
def test_forgetting_leaves_the_runs_of_the_remaining_turns(tmp_path_factory, steps, seed):
    """A number forgets that turn; None adds three turns."""
    directory = tmp_path_factory.mktemp("m")
    turns = talk(90, seed)
    later = iter(turns[45:])
    with opened(directory / "m.db") as (store, thread):
        thread.add_many(turns[:45])
        for step in steps:
            if step is None:
                thread.add_many([next(later) for _ in range(3)])
            elif step in {turn.id for turn in thread.turns()}:
                thread.forget(turn=step)
        remaining = thread.turns()
        found = stored(store, thread)
        hits = thread.search("w3 w7", min_relevance=0)
    assert found == fresh(directory / "fresh.db", remaining)
    with opened(directory / "m.db") as (store, thread):
        assert stored(store, thread) == found
        assert thread.search("w3 w7", min_relevance=0) == hits


@pytest.mark.parametrize("turn", [0, 1, 20, 42, 43, 44])
def test_forgetting_any_turn_embeds_only_what_changed(tmp_path, turn):
    turns = talk(45, seed=3)
    with opened(tmp_path / "m.db") as (store, thread):
        thread.add_many(turns)
        before = stored(store, thread)
        thread._embedder.inner.embedded.clear()
        thread.forget(turn=turn)
        after = stored(store, thread)
        assert after == fresh(tmp_path / "fresh.db", thread.turns())
        assert Counter(thread._embedder.inner.embedded) == Counter(
            text for text, _ in (after - before).elements()
        )


def test_forgetting_an_episode_and_then_everything_leaves_no_runs(tmp_path):
    with opened(tmp_path / "m.db") as (store, thread):
        thread.add_many(talk(60, seed=1))
        middle = thread.episodes()[len(thread.episodes()) // 2]
        thread.forget(episode=middle.id)
        assert stored(store, thread) == fresh(tmp_path / "fresh.db", thread.turns())
        for turn in thread.turns():
            thread.forget(turn=turn.id)
        assert store.load("a").spans == []
        assert thread.search("w3") == []
        thread.add_many(talk(20, seed=2))
        assert stored(store, thread) == fresh(tmp_path / "again.db", thread.turns())


@some
@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=12), asks=st.booleans())
def test_two_writers_see_the_runs_of_each_other(tmp_path_factory, sizes, asks):
    directory = tmp_path_factory.mktemp("m")
    turns = iter(talk(110, seed=4))
    with opened(directory / "m.db") as (store, one), opened(directory / "m.db") as (_, other):
        for number, size in enumerate(sizes):
            (one, other)[number % 2].add_many([next(turns) for _ in range(size)])
            if asks:
                one.search("w3")
                other.search("w3")
        hits = [thread.search("w3 w7", min_relevance=0) for thread in (one, other)]
        found = stored(store, one)
        indexes = [thread._engine.index for thread in (one, other)]
        vectors = [
            {run: one.vectors.take([row]).tobytes() for run, row in one.embedded.items()}
            for one in (index.runs for index in indexes)
        ]
        remaining = one.turns()
    assert vectors[0] == vectors[1]
    assert Counter(vector for _, vector in found.elements()) == Counter(vectors[0].values())
    assert found == fresh(directory / "fresh.db", remaining)
    with opened(directory / "m.db") as (_, thread):
        again = thread.search("w3 w7", min_relevance=0)
    assert hits[0] == hits[1] == again


def test_reopening_changes_no_bit_of_a_search(tmp_path):
    queries = ["w3 w7", "w11?", "elsewhere", "W3 of W80 and w9 w10 w11 w12"]
    with opened(tmp_path / "m.db") as (_, thread):
        for turn in talk(150, seed=6):
            thread.add(*turn)
            thread.search("w1")
        thread.forget(turn=70)
        found = [thread.search(query, min_relevance=0) for query in queries]
    with opened(tmp_path / "m.db") as (_, thread):
        assert [thread.search(query, min_relevance=0) for query in queries] == found
        assert thread._embedder.inner.embedded == [], "stored runs are not embedded again"


def span_lines(export):
    return [line for line in export.splitlines() if b'"kind": "span"' in line]


def test_an_export_keeps_the_runs_and_a_rebuild_restores_them(tmp_path):
    with Memory.open(tmp_path / "a.db", model=Hashed(), preset=LATE) as memory:
        memory.thread("a").add_many(talk(80, seed=7))
        memory.thread("a").forget(turn=33)
        whole = exported(memory, tmp_path / "a.jsonl")
        assert span_lines(whole)
        assert memory.verify().problems == ()
        memory.rebuild()
        # Episodes may differ: a turn is assigned to one when it arrives, after those then there.
        assert span_lines(exported(memory, tmp_path / "b.jsonl")) == span_lines(whole)
    with Memory.open(tmp_path / "c.db", model=Hashed(), preset=LATE) as memory:
        memory.import_(tmp_path / "a.jsonl")
        assert exported(memory, tmp_path / "c.jsonl") == whole


def test_without_embedding_runs_nothing_is_stored_and_means_are_used(tmp_path):
    # Long turns would be divided.
    turns = [(role, " ".join(text.split()[:60])) for role, text in talk(120, seed=8)]
    with opened(tmp_path / "m.db", LIGHT) as (store, thread):
        thread.add_many(turns)
        assert Counter(thread._embedder.inner.embedded) == Counter({text for _, text in turns})
        assert store.load("a").spans == []
        hits = thread.search("w3 w7", min_relevance=0)
        index = thread._engine.index
        assert not index.runs.embedded
        assert len(index.runs.joined) > 10
        question = embed(["w3 w7"])[0]
        table = index.run_table()
        found = table.cosines(index.vectors.scores(question), np.zeros(0, dtype=np.float32))
        for begin, end, cosine in zip(table.begins, table.ends, found, strict=True):
            mean = np.mean(embed([text for _, text in turns[begin:end]]), axis=0)
            assert cosine == pytest.approx(mean @ question / np.linalg.norm(mean), abs=1e-5)
    with opened(tmp_path / "m.db", LIGHT) as (_, thread):
        assert thread.search("w3 w7", min_relevance=0) == hits


def test_longer_runs_of_earlier_versions_are_used_as_they_are_and_forgotten(tmp_path):
    limits = LATE.settings.runs
    runs = replace(limits, thresholds=limits.thresholds[1:])
    earlier = replace(LATE, settings=replace(LATE.settings, runs=runs))
    later = replace(LATE, former=(earlier.fingerprint,))
    with opened(tmp_path / "m.db", earlier) as (store, thread):
        thread.add_many(talk(120, seed=9))
        long = {(row.first, row.last): row.vector.tobytes() for row in store.load("a").spans}
    with opened(tmp_path / "m.db", later) as (store, thread):
        thread.search("w3 w7", min_relevance=0)
        ids = thread._engine._turn_ids
        runs = thread._engine.index.runs.embedded
        assert long.keys() <= {(ids[begin], ids[end - 1]) for begin, end in runs}
        thread.add_many(talk(60, seed=10))
        gone = next(first + 1 for first, last in sorted(long) if last - first > 2 and first > 20)
        thread.forget(turn=gone)
        held = {vector for (first, last), vector in long.items() if first <= gone <= last}
        assert held
        assert not held & {row.vector.tobytes() for row in store.load("a").spans}
        hits = thread.search("w3 w7", min_relevance=0)
    with opened(tmp_path / "m.db", later) as (_, thread):
        assert thread.search("w3 w7", min_relevance=0) == hits
