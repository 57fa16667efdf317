"""Forgetting is real: the raw bytes of the files are searched."""

from contextlib import closing

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.streams import CUTTING, PAPER, exported, stream
from tsim import Memory, NewTurn
from tsim.errors import InputError
from tsim.store import SqliteStore

SECRET = "xylophone-zebra-quartz-{}"


def traces(directory, secret: str) -> list[str]:
    return [
        path.name
        for path in sorted(directory.iterdir())
        if path.is_file() and secret.encode() in path.read_bytes()
    ]


def secretive(count: int) -> list[NewTurn]:
    return [
        NewTurn(role=turn.role, text=f"{turn.text} {SECRET.format(n)}.", at=turn.at)
        for n, turn in enumerate(stream(count))
    ]


@pytest.fixture
def memory(tmp_path, tiny_embedder, preset):
    with Memory.open(tmp_path / "memory.db", model=tiny_embedder, preset=preset) as memory:
        for turn in secretive(120):
            memory.thread("a").add(turn.role, turn.text)
        yield memory


@CUTTING
def test_a_forgotten_turn_leaves_no_byte_behind(memory, tmp_path):
    thread = memory.thread("a")
    before = {episode.id: episode for episode in thread.episodes()}
    for turn in (0, 17, 18, 63, 119):
        secret = SECRET.format(turn) + "."
        assert traces(tmp_path, secret)
        receipt = thread.forget(turn=turn)
        assert receipt.turns == (turn,)
        memory.export(tmp_path / "export.jsonl")
        assert traces(tmp_path, secret) == []
        assert all(secret not in hit.turns[0].text for hit in thread.search(secret, k=50))
    after = {episode.id: episode for episode in thread.episodes()}
    assert after.keys() == before.keys()
    assert memory.verify().problems == ()


@CUTTING
def test_a_forgotten_episode_and_thread_leave_no_byte_behind(memory, tmp_path):
    thread = memory.thread("a")
    memory.thread("b").add_many(secretive(30))
    episodes = thread.episodes()
    gone = episodes[len(episodes) // 2]
    receipt = thread.forget(episode=gone.id)
    assert receipt.episodes == (gone.id,)
    assert receipt.turns == tuple(turn.id for turn in gone.turns)
    assert [e.id for e in thread.episodes()] == [e.id for e in episodes if e.id != gone.id]
    assert memory.verify().problems == ()
    assert memory.forget_thread("a")
    for turn in range(31, 120):
        assert traces(tmp_path, SECRET.format(turn) + ".") == []
    assert len(memory.thread("b").turns()) == 30


@PAPER
def test_what_remains_is_what_it_would_be_without_the_turn(tmp_path, tiny_embedder, preset):
    """Forgetting the newest turn of a closed episode equals a summary that never had it."""
    turns = stream(60)
    with closing(SqliteStore(tmp_path / "a.db")) as store:
        thread = Memory(store, tiny_embedder, preset).thread("a")
        thread.add_many(turns)
        target = thread.episodes()[2]
        thread.forget(turn=target.turns[-1].id)
        row = store.load("a").episodes[2]
        text = "[recent] episode 2\n" + "\n".join(
            f"{turn.role}: {turn.text}" for turn in target.turns[:-1]
        )
        np.testing.assert_array_equal(row.vector, tiny_embedder.embed([text[: 1200 + 19]])[0])


@CUTTING
def test_the_stream_goes_on_after_the_open_episode_is_forgotten(memory):
    thread = memory.thread("a")
    newest = thread.episodes()[-1]
    assert newest.open
    thread.forget(episode=newest.id)
    receipt = thread.add("user", "budget letter")
    assert receipt.turn == 120
    assert receipt.episode == newest.id + 1
    assert memory.verify().problems == ()


def test_what_is_not_there_cannot_be_forgotten(memory):
    thread = memory.thread("a")
    for wrong in ({"turn": 500}, {"episode": 500}, {}, {"turn": 1, "episode": 1}):
        with pytest.raises(InputError):
            thread.forget(**wrong)
    thread.forget(turn=4)
    with pytest.raises(InputError, match="no turn 4"):
        thread.forget(turn=4)


@CUTTING
@settings(
    deadline=None,
    max_examples=8,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=st.lists(st.tuples(st.booleans(), st.integers(0, 39)), max_size=12))
def test_any_mixture_of_adding_and_forgetting_verifies_and_reopens_equal(
    tmp_path_factory, tiny_embedder, steps, preset
):
    directory = tmp_path_factory.mktemp("m")
    turns = stream(52, seed=5)
    with Memory.open(directory / "m.db", model=tiny_embedder, preset=preset) as memory:
        thread = memory.thread("a")
        thread.add_many(turns[:40])
        for number, (adding, which) in enumerate(steps):
            if adding:
                thread.add(turns[40 + number].role, turns[40 + number].text)
            elif which in {turn.id for turn in thread.turns()}:
                thread.forget(turn=which)
        assert memory.verify().problems == ()
        content = exported(memory, directory / "x.jsonl")
        hits = thread.search("rule gpu", k=20)
    with Memory.open(directory / "m.db", model=tiny_embedder, preset=preset) as memory:
        assert exported(memory, directory / "y.jsonl") == content
        assert memory.thread("a").search("rule gpu", k=20) == hits
