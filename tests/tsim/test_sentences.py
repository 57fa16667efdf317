"""Sentences: where they begin, that they are stored with their turns, and what they change."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.former import undo
from tests.support.streams import exported
from tests.support.tiny_bert import WORDS
from tsim import LATE, LIGHT, Memory, NewTurn
from tsim.embed import embed_turns, find_passages, find_sentences
from tsim.engine.late.sentences import LOOKED_AT, Sentences
from tsim.segment import sentences
from tsim.store import SqliteStore
from tsim.vectors import unit
from tsim.words import count

ASIDE = (
    "Could you have a look at the second paragraph of the letter and make it sound less stiff? "
    "We never learnt to swim, by the way. The rest of it is fine as it is."
)

MORE = (
    "The date goes to the right, and please check whether the landlord's name has two letters n. "
    "I will print it at the office tomorrow and post it on the way to the station."
)


def parts(text):
    return [text[a:b].strip() for a, b in pairwise([*sentences(text), len(text)])]


@given(
    st.lists(
        st.sampled_from(
            ["word ", "Ende. ", "Why? ", "\n", "yes; ", "日本語です。", '"Oh!" ', "x" * 9]
        ),
        max_size=60,
    )
)
def test_sentences_cover_a_text_in_order(pieces):
    text = "".join(pieces)
    starts = sentences(text)
    if starts:
        assert starts[0] == 0
        assert len(starts) > 1
        assert all(before < after < len(text) for before, after in pairwise(starts))
        assert all(count(part) >= 3 for part in parts(text))
    else:
        assert count(text) < 20 or not any(mark in text for mark in "\n;。") or count(text) < 40


def test_a_text_falls_into_sentences():
    assert parts(ASIDE)[1] == "We never learnt to swim, by the way."
    assert len(parts(ASIDE)) == 3
    assert sentences("Short. Very short. Still short.") == ()
    assert sentences("one sentence only " * 20) == ()
    # What is too short goes with the sentence after it, at the end with the one before it.
    assert parts(f"Right. {ASIDE} Yes.")[0].startswith("Right. Could you")
    assert parts(f"Right. {ASIDE} Yes.")[-1].endswith("as it is. Yes.")
    chinese = "我把信改好了，你看看第二段的语气合适不合适。" * 3 + "顺便说一句我从来没有学会游泳。"
    assert parts(chinese)[-1] == "顺便说一句我从来没有学会游泳。"


def test_sentences_end_where_passages_end(tiny_embedder):
    text = " ".join(f"{' '.join(WORDS)} {n}." for n in range(12))
    (passages,) = find_passages(tiny_embedder, [text])
    (starts,) = find_sentences([text], [passages])
    assert len(passages) > 1
    assert {*starts} >= {start for start in passages if start in starts}
    vectors, found = embed_turns(tiny_embedder, [text], [passages])
    assert len(vectors) == len(passages)
    assert found.starts == [starts]
    assert len(found.vectors) == len(starts)


def talk():
    plain = [NewTurn(role="user", text=f"{' '.join(WORDS[:6])} {n}") for n in range(6)]
    several = [
        NewTurn(role="model", text=f"{' '.join(WORDS[n:])} one. {' '.join(WORDS[: n + 4])} two.")
        for n in range(3)
    ]
    return [*plain[:3], *several, *plain[3:], NewTurn(role="user", text=ASIDE)]


def stored(memory):
    state = memory._store.load("a")
    return [(row.turn, row.start) for row in state.sentences]


def test_sentences_are_stored_however_turns_are_added(tmp_path, minilm):
    exports = []
    for name, step in (("one", 1), ("three", 3), ("all", 99)):
        with Memory.open(tmp_path / f"{name}.db", model=minilm) as memory:
            turns = talk()
            for first in range(0, len(turns), step):
                memory.thread("a").add_many(turns[first : first + step])
            exports.append(exported(memory, tmp_path / "out.jsonl"))
            assert memory.verify().problems == ()
            assert memory.verify().sentences == len(stored(memory))
    assert exports[0] == exports[1] == exports[2]
    assert len([key for key in stored_in(tmp_path / "all.db") if key[0] == 9]) == 3


def stored_in(path):
    store = SqliteStore(path)
    try:
        return [(row.turn, row.start) for row in store.load("a").sentences]
    finally:
        store.close()


def test_what_is_forgotten_has_no_sentences_and_the_rest_is_as_if_it_had_never_been(
    tmp_path, minilm
):
    with Memory.open(tmp_path / "a.db", model=minilm) as memory:
        thread = memory.thread("a")
        thread.add_many(talk())
        before = stored(memory)
        thread.search("learnt to swim")
        thread.forget(turn=4)
        assert stored(memory) == [key for key in before if key[0] != 4]
        warm = [(hit.relevance, hit.turns) for hit in thread.search("learnt to swim")]
    with Memory.open(tmp_path / "a.db", model=minilm) as memory:
        found = memory.thread("a").search("learnt to swim")
        assert [(hit.relevance, hit.turns) for hit in found] == warm


def test_two_writers_see_each_others_sentences(tmp_path, minilm):
    path, turns = tmp_path / "a.db", talk()
    with (
        Memory.open(path, model=minilm) as first,
        Memory.open(path, model=minilm) as second,
    ):
        for number, turn in enumerate(turns):
            (first if number % 2 else second).thread("a").add(turn.role, turn.text)
        found = [
            [(hit.relevance, hit.turns) for hit in memory.thread("a").search("learnt to swim")]
            for memory in (first, second)
        ]
        assert found[0] == found[1]
        shared = exported(first, tmp_path / "out.jsonl")
    with Memory.open(tmp_path / "b.db", model=minilm) as alone:
        alone.thread("a").add_many(turns)
        assert exported(alone, tmp_path / "alone.jsonl") == shared


def test_a_memory_can_be_exported_imported_and_rebuilt_with_its_sentences(tmp_path, minilm):
    with Memory.open(tmp_path / "a.db", model=minilm) as memory:
        memory.thread("a").add_many(talk())
        whole = exported(memory, tmp_path / "a.jsonl")
    assert b'"version": 3' in whole.splitlines()[0]
    with Memory.open(tmp_path / "b.db", model=minilm) as other:
        other.import_(tmp_path / "a.jsonl")
        assert exported(other, tmp_path / "b.jsonl") == whole
        other.rebuild()
        assert exported(other, tmp_path / "b.jsonl") == whole


def test_light_embeds_no_sentences(tmp_path, minilm):
    assert LATE.settings.sentences
    assert not LIGHT.settings.sentences
    with Memory.open(tmp_path / "a.db", model=minilm, preset="light") as memory:
        memory.thread("a").add_many(talk())
        assert stored(memory) == []


def test_a_file_of_before_is_read_and_written_on(tmp_path, minilm):
    path = tmp_path / "a.db"
    with Memory.open(path, model=minilm) as memory:
        memory.thread("a").add_many(talk())
    with closing(sqlite3.connect(path)) as connection, connection:
        undo(connection, 7)
    with Memory.open(path, model=minilm, read_only=True) as memory:
        assert memory.thread("a").search("swim")
        assert memory.verify().problems == ()
    with Memory.open(path, model=minilm) as memory:
        assert stored(memory) == []
        memory.thread("a").add("user", ASIDE)
        assert [turn for turn, _ in stored(memory)] == [10, 10, 10]
        assert memory.thread("a").search("swim")
        memory.rebuild()
        assert len(stored(memory)) > 3


def drawn(rng, count):
    return unit(rng.normal(size=(count, 8)).astype(np.float32))


@pytest.mark.parametrize("turns", [40, LOOKED_AT + 200])
def test_a_turn_is_in_part_as_near_as_its_nearest_sentence(turns):
    rng = np.random.default_rng(turns)
    rows, (query,) = drawn(rng, turns), drawn(rng, 1)
    owners = np.sort(rng.integers(0, turns, size=2 * turns))
    vectors = drawn(rng, len(owners))
    similar, eligible = rows @ query, rng.random(turns) < 0.9
    some = Sentences(8)
    some.extend(owners[:30].tolist(), vectors[:30])
    some.extend(owners[30:].tolist(), vectors[30:])
    near = np.argsort(np.where(eligible, -similar, np.inf), kind="stable")[:LOOKED_AT]
    expected = similar.copy()
    for place in near if turns > LOOKED_AT else range(turns):
        own = vectors[owners == place] @ query
        if len(own):
            expected[place] = 0.7 * similar[place] + 0.3 * own.max()
    found = some.raised(similar, query, eligible, 0.3)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert some.raised(similar, query, eligible, 0.0) is similar
    left = np.flatnonzero(rng.random(turns) < 0.5)
    kept = some.kept(left, turns)
    assert [left[place] for place in kept.places] == [n for n in owners if n in {*left}]


def test_a_fact_in_passing_is_nearer_with_its_sentence(tmp_path, minilm):
    without = replace(LATE.settings, span=replace(LATE.settings.span, sentence_weight=0.0))
    similar = []
    for number, preset in enumerate((LATE, replace(LATE, name="plain", settings=without))):
        with Memory.open(tmp_path / f"{number}.db", model=minilm, preset=preset) as memory:
            thread = memory.thread("a")
            thread.add("user", f"{ASIDE} {MORE}")
            (hit,) = thread.search("Can you swim?")
            similar.append(hit.why.dense)
    assert similar[0] > similar[1] + 0.02


def test_what_an_earlier_version_removes_takes_its_sentences_with_it(tmp_path, minilm):
    """One that had the file open when it was brought up to date knows of turns alone."""
    path = tmp_path / "a.db"
    with Memory.open(path, model=minilm) as memory:
        memory.thread("a").add_many(talk())
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM turn WHERE key & 4294967295 = 9")
    assert {turn for turn, _ in stored_in(path)} == {3, 4, 5}


def test_a_file_that_has_lost_its_sentences_is_damaged(tmp_path, minilm):
    path = tmp_path / "a.db"
    with Memory.open(path, model=minilm) as memory:
        memory.thread("a").add_many(talk())
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TABLE sentence")
    with Memory.open(path, model=minilm) as memory:
        assert any("sentence" in problem for problem in memory.verify().problems)
