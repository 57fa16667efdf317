"""Maps and braids: the same episodes as elsewhere, never more blocks than asked for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.streams import EAGER, stream
from tsim import InputError, Memory, NewTurn, ThreadMissingError
from tsim.braiding import MOST, braid
from tsim.engine import Outline, Reply
from tsim.mapping import POINTS, draw


def outline(confidences, *, episodes=None, ids=None, interleaved=None):
    count = len(confidences)
    return Outline(
        turns=np.array(ids if ids is not None else range(count), dtype=np.int64),
        episodes=np.array(episodes if episodes is not None else [0] * count, dtype=np.int64),
        times=np.full(count, np.nan),
        confidences=np.array(confidences, dtype=np.float64),
        interleaved=np.array(interleaved or [False] * count, dtype=np.bool_),
        cut=0.25,
    )


@pytest.fixture
def thread(tiny_embedder, tmp_path):
    with Memory.open(tmp_path / "m.db", model=tiny_embedder, preset=EAGER) as memory:
        memory.thread("t").add_many(stream(80))
        yield memory.thread("t")


@pytest.mark.parametrize("threshold", [None, 0.0, 0.2, 0.5, 0.9, 1.0])
def test_a_map_has_the_episodes_of_the_thread(thread, threshold):
    episodes = thread.episodes(threshold=threshold)
    drawn = thread.map(threshold=threshold)
    assert [(b.first, b.last, b.turns) for b in drawn.blocks] == [
        (e.turns[0].id, e.turns[-1].id, len(e.turns)) for e in episodes
    ]
    if threshold is None:
        assert [b.episode for b in drawn.blocks] == [e.id for e in episodes]
    else:
        assert all(b.episode is None for b in drawn.blocks)
        assert all(b.opens >= threshold for b in drawn.blocks)
    assert drawn.episodes == len(episodes) and drawn.total == drawn.turns == 80


def test_edges_meet_and_times_are_those_of_the_turns(thread):
    drawn = thread.map(threshold=0.5)
    for before, after in zip(drawn.blocks, drawn.blocks[1:], strict=False):
        assert before.closes == after.opens
    assert drawn.blocks[-1].closes == drawn.blocks[0].opens == 1.0
    at = [turn.at for turn in thread.turns() if turn.at is not None]
    assert min(b.since for b in drawn.blocks if b.since is not None) == min(at)
    assert max(b.until for b in drawn.blocks if b.until is not None) == max(at)


def test_maps_follow_what_is_added_and_forgotten(thread):
    thread.map()
    thread.add("user", "one more")
    assert thread.map().blocks[-1].last == 80
    thread.forget(turns=[0, 1, 2, 40])
    drawn = thread.map()
    assert drawn.blocks[0].first == 3 and drawn.total == 77 and drawn.gone == 1
    again = {(b.first, b.last) for b in drawn.blocks}
    assert again == {(e.turns[0].id, e.turns[-1].id) for e in thread.episodes()}


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=120),
    st.floats(0, 1),
    st.integers(1, 20),
    st.integers(0, 130),
    st.integers(0, 130),
)
def test_blocks_cover_a_part_without_gaps_and_hold_every_episode(sure, least, most, a, b):
    whole = outline([1.0, *sure[1:]])
    first, last = min(a, b), max(a, b)
    drawn = draw(whole, threshold=least, first=first, last=last, blocks=most)
    inside = [n for n in range(len(sure)) if first <= n <= last]
    assert len(drawn.blocks) <= most
    assert [n for block in drawn.blocks for n in range(block.first, block.last + 1)] == inside
    begins = {n for n in inside if whole.confidences[n] >= least} | {*inside[:1]}
    assert drawn.episodes == len(begins) == sum(block.episodes for block in drawn.blocks)
    assert {block.first for block in drawn.blocks} <= begins
    assert len(drawn.profile) == min(POINTS, len(inside))
    if inside:
        assert max(drawn.profile) == whole.confidences[inside].max()


def test_of_many_episodes_the_most_certain_of_each_part_is_kept():
    sure = [1.0, 0.6, 0.9, 0.7, 0.6, 0.8, 0.95, 0.7]
    drawn = draw(outline(sure), threshold=0.5, blocks=2)
    assert [block.first for block in drawn.blocks] == [0, 6]
    assert [block.episodes for block in drawn.blocks] == [6, 2]


def test_an_episode_that_is_cut_by_the_part_cannot_be_taken_for_the_whole():
    whole = outline([0.5] * 9, episodes=[0, 0, 0, 1, 1, 1, 2, 2, 2])
    assert [b.episode for b in draw(whole).blocks] == [0, 1, 2]
    assert [b.episode for b in draw(whole, first=1, last=7).blocks] == [None, 1, None]


def test_a_method_that_cuts_once_has_a_map_of_its_cuts(tiny_embedder, tmp_path):
    with Memory.open(tmp_path / "m.db", model=tiny_embedder, preset="official") as memory:
        thread = memory.thread("t")
        thread.add_many(stream(60))
        drawn = thread.map()
        assert [b.episode for b in drawn.blocks] == [e.id for e in thread.episodes()]
        assert drawn.profile == () and drawn.cut is None and drawn.blocks[0].opens is None
        assert drawn.blocks[-1].until == 59.0
        thread.add("user", "one more", at=77.0)
        assert thread.map().blocks[-1].until == 77.0
        with pytest.raises(InputError, match="cuts episodes once"):
            thread.map(threshold=0.5)
        assert thread.braid(0, 9).lanes == 1


def test_what_cannot_be_drawn_is_refused(thread):
    for wrong in ({"threshold": 2}, {"blocks": 0}, {"first": "1"}, {"last": 1.5}):
        with pytest.raises(InputError):
            thread.map(**wrong)
    for first, last in ((5, 4), (0, MOST), ("a", 3)):
        with pytest.raises(InputError):
            thread.braid(first, last)
    assert thread.map(first=10**30).blocks == ()
    assert thread.map(last=10**30).turns == 80


def test_a_thread_that_does_not_exist_has_no_map(tiny_embedder, tmp_path):
    with Memory.open(tmp_path / "m.db", model=tiny_embedder) as memory:
        with pytest.raises(ThreadMissingError):
            memory.thread("x").map()
        with pytest.raises(ThreadMissingError):
            memory.thread("x").braid(0, 1)


def test_a_thread_whose_turns_were_all_forgotten_has_an_empty_map(thread):
    thread.forget(turns=range(80))
    assert thread.map().blocks == () and thread.map().total == 0
    assert thread.braid(0, 9).strands == ()


def test_conversations_have_lanes_and_lanes_are_used_again():
    replies = [
        Reply(turn=2, to=0, probability=0.9),
        Reply(turn=3, to=1, probability=0.8),
        Reply(turn=4, to=2, probability=0.7),
        Reply(turn=4, to=3, probability=0.2),
        Reply(turn=6, to=5, probability=0.6),
    ]
    found = braid(outline([0.5] * 7, interleaved=[True] * 7), replies, range(7))
    assert [s.lane for s in found.strands] == [0, 1, 0, 1, 0, 0, 0]
    assert [s.replies_to for s in found.strands] == [None, None, 0, 1, 2, None, 5]
    assert found.lanes == 2 and found.maybe == (replies[3],)
    assert found.stretches == ((0, 6),)


def test_no_turn_gets_two_replies_and_unlikely_ones_are_not_drawn():
    replies = [
        Reply(turn=1, to=0, probability=0.6),
        Reply(turn=2, to=0, probability=0.7),
        Reply(turn=3, to=1, probability=0.4),
    ]
    found = braid(outline([0.5] * 4, interleaved=[True] * 4), replies, range(4))
    assert [s.replies_to for s in found.strands] == [None, None, 0, None]
    assert found.maybe == (replies[0], replies[2])


def test_replies_to_turns_before_the_part_are_named_but_not_joined():
    replies = [Reply(turn=5, to=1, probability=0.9)]
    found = braid(outline([0.5] * 8, interleaved=[True] * 8), replies, range(4, 8))
    assert found.strands[1].replies_to == 1 and found.maybe == ()


class Lanes:
    """Turns of one conversation are alike, and those of different ones are not."""

    identity = "lanes/1"
    dimension = 12

    def embed(self, texts):
        rows = np.full((len(texts), self.dimension), 0.05, dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[int(text.split()[1]) % self.dimension] = 1.0
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def embed_query(self, text):
        return self.embed([text])[0]


def braided(count):
    """Three conversations at a time, turn by turn; each has eight turns."""
    texts, topics, said, new = [], [0, 1, 2], [0, 0, 0], 3
    for n in range(count):
        lane = n % 3
        if said[lane] == 8:
            topics[lane], said[lane], new = new, 0, new + 1
        texts.append(("user" if said[lane] % 2 == 0 else "model", f"topic {topics[lane]} turn {n}"))
        said[lane] += 1
    return texts


def test_interleaved_conversations_are_told_apart(tmp_path):
    with Memory.open(tmp_path / "m.db", model=Lanes()) as memory:
        thread = memory.thread("t")
        texts = braided(260)
        thread.add_many([NewTurn(role=role, text=text) for role, text in texts])
        found = thread.braid(100, 160)
        assert found.stretches and all(s.interleaved for s in found.strands)
        right = [
            texts[s.turn][1].split()[1] == texts[s.replies_to][1].split()[1]
            for s in found.strands
            if s.replies_to is not None
        ]
        assert len(right) > 40 and sum(right) > 0.9 * len(right)
        assert found.lanes >= 3
        assert any(block.interleaved for block in thread.map().blocks)
