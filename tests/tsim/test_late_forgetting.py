"""What is left of a thread in RAM is what would be loaded, and little is read for it."""

import random
import zlib
from array import array
from bisect import bisect_left, bisect_right

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tsim import LATE, Memory, NewTurn
from tsim.engine.late.forgetting import key, rerun
from tsim.store import SqliteStore

GREETINGS = ("Hi Nadia!", "Thanks, Omar.", "I went there.", "Is it?", "my rule", "the plan")


class Topics:
    """Vectors of turns about eight turns' worth of the same thing."""

    identity, dimension, reads = "topics", 24, 60

    def count_tokens(self, texts):
        return [len(text.split()) for text in texts]

    def embed(self, texts):
        rows = []
        for text in texts:
            topic = np.random.default_rng(int(text.split()[0]) if text[:1].isdigit() else 0)
            own = np.random.default_rng(zlib.crc32(text.encode()))
            rows.append(1.3 * topic.normal(size=24) + own.normal(size=24))
        found = np.array(rows, dtype=np.float32).reshape(-1, 24)
        return found / np.linalg.norm(found, axis=1, keepdims=True)

    def embed_query(self, text):
        return self.embed([text])[0]


def turns(count, seed=0, longest=30):
    rng = random.Random(seed)
    return [
        NewTurn(
            role=rng.choice(["user", "model", "Nadia", "Omar"][: 2 + 2 * (n > 20)]),
            text=" ".join(
                [str(n // 8), rng.choice(GREETINGS)]
                + [
                    f"w{int(900 ** rng.random())}"
                    for _ in range(rng.randint(1, longest if n % 9 == 4 else 30))
                ]
            ),
            at=1e9 + n if rng.random() < 0.5 else None,
            meta={"tag": rng.choice("abc")} if rng.random() < 0.2 else None,
        )
        for n in range(count)
    ]


def state(engine):
    """Everything that an engine knows, to be compared."""
    index = engine.index
    index.settle()
    parts = {
        "ids": engine._turn_ids,
        "episodes": engine._turn_episodes,
        "runs": [*index.runs.embedded],
    }
    for part in (
        index,
        index.runs,
        index.passages,
        index.postings,
        index.speakers,
        index.attributes,
    ):
        for name, value in vars(part).items():
            if isinstance(value, array | bytearray | dict | list | int | float | bool):
                raw = isinstance(value, array)  # unknown times are not equal to themselves
                parts[f"{type(part).__name__}{name}"] = value.tobytes() if raw else value
    for name in (
        "ThreadIndex_recent",
        "ThreadIndex_kept",
        "ThreadIndex_grown",
        "Postings_listed",
    ):
        parts.pop(name, None)
    paths = index.paths()
    for name, values in (
        ("gaps", index.gaps()),
        ("onward", paths.onward),
        ("back", paths.back),
        *index.columns().items(),
    ):
        parts[name] = values.tobytes()
    parts["last"], parts["vectors"] = index._last, index.vectors.take(range(len(index))).tobytes()
    parts["run vectors"] = index.runs.vectors.take(range(len(index.runs.embedded))).tobytes()
    parts["interleaved"] = index.stretches.interleaved().tobytes()
    return parts


def differences(one, other):
    return [name for name in one.keys() | other.keys() if one.get(name) != other.get(name)]


@settings(
    deadline=None,
    max_examples=12,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    gone=st.lists(st.integers(0, 299), min_size=1, max_size=12, unique=True)
    | st.tuples(st.integers(0, 299), st.integers(1, 300)).map(
        lambda some: [*range(some[0], min(300, sum(some)))]
    ),
    longest=st.sampled_from([30, 200]),
)
def test_the_engine_without_some_turns_is_the_one_that_would_be_loaded(
    tmp_path_factory, gone, longest
):
    path = tmp_path_factory.mktemp("m") / "m.db"
    said = turns(312, longest=longest)
    with Memory.open(path, model=Topics(), preset=LATE) as memory:
        thread = memory.thread("a")
        thread.add_many(said[:300])
        thread.search("3 my rule")
        thread.forget(turns=gone)
        engine = thread._engine
        assert engine is not None
        assert memory.verify().problems == ()
        with Memory.open(path, model=Topics()) as again:
            loaded = again.thread("a")
            assert thread.search("3 my rule", k=9) == loaded.search("3 my rule", k=9)
            assert differences(state(engine), state(loaded._engine)) == []
        thread.add_many(said[300:])
        with Memory.open(path, model=Topics()) as again:
            loaded = again.thread("a")
            assert thread.search("w3 w5?", k=9) == loaded.search("w3 w5?", k=9)
            assert differences(state(thread._engine), state(loaded._engine)) == []
        assert thread._engine is engine


def slow(index, ids, gone, stored):
    """All runs of the remaining turns, cut anew."""
    kept = [place for place, turn in enumerate(ids) if turn not in gone]
    fresh, left = index.part(kept), [ids[place] for place in kept]
    for turn in dict.fromkeys(left):
        fresh.read(stored[turn])
    wanted = {key(run, left) for run in fresh.close_runs()}
    there = {key(run, ids) for run in index.runs.embedded}
    cut = sorted(gone)
    intact = {one for one in there if bisect_left(cut, one[0]) == bisect_right(cut, one[1])}
    return sorted(there - (intact & wanted)), sorted(wanted - intact)


@pytest.mark.parametrize("longest", [30, 200], ids=["short", "divided"])
def test_runs_change_only_around_what_is_forgotten(tmp_path, longest):
    with Memory.open(tmp_path / "m.db", model=Topics(), preset=LATE) as memory:
        thread = memory.thread("a")
        thread.add_many(turns(1300, longest=longest))
        stored = {turn.id: turn for turn in thread.turns()}
        thread.search("3 my rule")
        engine = thread._engine
    rng = random.Random(4)
    ids, read = engine._turn_ids, []

    def some(wanted):
        read.extend(wanted)
        return [stored[turn] for turn in wanted]

    assert len(engine.index.runs.embedded) > 150
    assert bool(engine.index.passages.further) == (longest > 30)
    for first in [0, 1, 2, 650, 1292, 1297, 1298, 1299, *rng.sample(range(1300), 12)]:
        gone = {turn for turn in range(first, first + rng.choice([1, 1, 2, 9])) if turn < 1300}
        read.clear()
        found = rerun(engine.index, ids, gone, some)
        assert (found.removed, [*found.added]) == slow(engine.index, ids, gone, stored)
        assert len(read) < 300


def test_forgetting_in_a_thread_that_was_not_read_loads_it_anew(tmp_path):
    with Memory.open(tmp_path / "m.db", model=Topics(), preset=LATE) as memory:
        memory.thread("a").add_many(turns(60))
    with Memory.open(tmp_path / "m.db", model=Topics()) as memory:
        thread = memory.thread("a")
        thread.forget(turn=5)
        assert [turn.id for turn in thread.turns()] == [*range(5), *range(6, 60)]
        assert thread.search("0 my rule", k=5)
        assert memory.verify().problems == ()


def test_a_lost_race_keeps_what_is_in_memory(tmp_path, monkeypatch):
    with Memory.open(tmp_path / "m.db", model=Topics(), preset=LATE) as memory:
        thread = memory.thread("a")
        thread.add_many(turns(60))
        thread.search("3 my rule")
        commit, loads = SqliteStore.commit, []
        load = SqliteStore.load
        monkeypatch.setattr(SqliteStore, "load", lambda *a: loads.append(1) or load(*a))

        def losing(store, *args, **named):
            monkeypatch.setattr(SqliteStore, "commit", commit)
            with Memory.open(tmp_path / "m.db", model=Topics()) as other:
                other.thread("a").add("user", "9 somebody else was faster")
            loads.clear()

        monkeypatch.setattr(SqliteStore, "commit", losing)
        thread.forget(turn=7)
        assert not loads
        assert [turn.id for turn in thread.turns()] == [*range(7), *range(8, 61)]
        assert memory.verify().problems == ()
