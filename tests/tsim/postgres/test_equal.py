"""The same turns give the same memory, whatever keeps them."""

import tempfile
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.streams import CUTTING, exported, stream
from tsim import InputError, Memory, NewTurn
from tsim.store import open_store

texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)
turns = st.builds(
    NewTurn,
    role=st.sampled_from(["user", "model", "Nadia", "é\u200b"]),
    text=texts.filter(str.strip),
    at=st.none() | st.floats(-1e9, 4e9) | st.just(-0.0),
    meta=st.none() | st.dictionaries(texts, st.none() | st.booleans() | texts, max_size=2),
)
step = st.one_of(
    st.tuples(st.just("add"), st.lists(turns, min_size=1, max_size=6)),
    st.tuples(st.just("forget"), st.integers(0, 9)),
    st.tuples(st.just("remove"), st.just(None)),
)


@CUTTING
def test_a_long_stream_is_the_same_in_a_file_and_a_database(
    tmp_path, tiny_embedder, preset, postgres
):
    with (
        Memory.open(tmp_path / "m.db", model=tiny_embedder, preset=preset) as file,
        Memory.open(postgres, model=tiny_embedder, preset=preset) as database,
    ):
        for memory in (file, database):
            thread = memory.thread("a")
            for turn in stream(60):
                thread.add(turn.role, turn.text, at=turn.at)
            memory.thread("b").add_many(stream(30, seed=8))
            thread.add("user", " ".join(["budget letter rule"] * 200), id="long")
            thread.forget(turn=17)
            thread.forget(episode=thread.episodes()[1].id)
            memory.forget_thread("b")
            memory.thread("c").add_many(stream(20, seed=9))
        one, two = file.thread("a"), database.thread("a")
        assert one.turns() == two.turns()
        assert one.episodes() == two.episodes()
        assert one.search("budget rule", k=20) == two.search("budget rule", k=20)
        assert one.nearest("budget rule", k=50) == two.nearest("budget rule", k=50)
        for thread in (one, two):
            thread.unload()
        assert one.search("budget rule", k=20) == two.search("budget rule", k=20)
        assert exported(file, tmp_path / "1") == exported(database, tmp_path / "2")
        assert file.verify() == database.verify()


@given(st.lists(step, max_size=6))
@settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_whatever_is_said_is_exported_as_the_same_bytes(tiny_embedder, postgres, steps):
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        with (
            Memory.open(directory / "m.db", model=tiny_embedder) as file,
            Memory.open(postgres, model=tiny_embedder) as database,
        ):
            database._store.remove("a")
            for memory in (file, database):
                thread = memory.thread("a")
                for what, value in steps:
                    if what == "add":
                        thread.add_many(value)
                    elif what == "remove":
                        memory._store.remove("a")
                    elif thread:
                        ids = [turn.id for turn in thread.turns()]
                        memory._store.scrub = lambda: False
                        if ids:
                            thread.forget(turn=ids[value % len(ids)])
            assert exported(file, directory / "1") == exported(database, directory / "2")


def test_what_postgres_cannot_represent_is_refused_before_anything_is_written(
    tiny_embedder, postgres
):
    with Memory.open(postgres, model=tiny_embedder) as memory:
        thread = memory.thread("a")
        thread.add("user", "one gpu")
        with pytest.raises(InputError, match="NUL, which turn 2 has; nothing was written"):
            thread.add_many([("user", "fine"), ("user", "one \0 gpu")])
        assert len(thread) == 1
        assert thread.add("user", "two gpus").turn == 1
        with pytest.raises(InputError, match="NUL"):
            memory.thread("a\0b").add("user", "x")
        assert not memory.thread("a\0b")
        assert memory.threads() == ["a"]
        assert not memory.forget_thread("a\0b")
        assert memory.verify().problems == ()


def test_every_bit_of_a_vector_is_kept(postgres):
    from tsim.state import Changes, Counters, EpisodeRow, PassageRow, TurnRow
    from tsim.types import Turn

    values = np.array([-0.0, 1e-45, -1e-38, 1 / 3, 3.4e38, 1], dtype=np.float32)
    said = Turn(id=0, role="user", text="x", at=None)
    changes = Changes(
        turns=(TurnRow(turn=said, episode=0, vector=values),),
        passages=(PassageRow(turn=0, start=1, vector=-values),),
        episodes=(EpisodeRow(id=0, vector=values),),
    )
    with closing(open_store(postgres)) as store:
        assert store.commit("a", changes, Counters(turn=1, episode=1), expected=0, settings={})
        state = store.load("a")
        assert state.turn_vectors.tobytes() == values.tobytes()
        assert state.passages[0].vector.tobytes() == (-values).tobytes()
        assert state.episodes[0].vector.tobytes() == values.tobytes()
        assert store.check() == []
