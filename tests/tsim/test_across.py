"""Searches in several threads: only those that are named, one budget, one ranking."""

import sqlite3

import pytest

from tests.support.streams import stream
from tsim import InputError, Memory, StoreError, ThreadMissingError, tokens


@pytest.fixture
def memory(tmp_path, tiny_embedder, preset):
    with Memory.open(tmp_path / "memory.db", model=tiny_embedder, preset=preset) as memory:
        for name in ("a", "b", "c d"):
            memory.thread(name).add_many(stream(40, seed=ord(name[0])))
        yield memory


def rank(hit):
    return hit.score if hit.relevance is None else hit.relevance


def test_one_named_thread_is_searched_as_the_thread_itself(memory):
    for budget in (None, 30, 400):
        alone = memory.thread("a").search("bread rule", budget=budget, min_relevance=0)
        named = memory.search("bread rule", threads=["a"], budget=budget, min_relevance=0)
        assert named == alone


def test_hits_carry_their_thread_and_are_ranked_together(memory):
    hits = memory.search("bread rule", threads=["b", "a"], min_relevance=0)
    assert {hit.thread for hit in hits} == {"a", "b"}
    assert [rank(hit) for hit in hits] == sorted((rank(hit) for hit in hits), reverse=True)
    for hit in hits:
        stored = {turn.id: turn for turn in memory.thread(hit.thread)}
        assert all(stored[turn.id].role == turn.role for turn in hit.turns)
    assert memory.search("bread rule", threads=["b", "a"], min_relevance=0) == hits
    assert len(memory.search("bread rule", threads=["b", "a"], k=1, min_relevance=0)) == 1


@pytest.mark.parametrize("budget", [12, 40, 150, 600, 1100])
def test_all_threads_share_one_budget(memory, budget):
    names = ["a", "b", "c d"]
    text = memory.context("bread rule", threads=names, budget=budget, min_relevance=0)
    assert tokens.estimate(text) <= budget
    if budget >= 150:
        assert text
    headings = [line for line in text.splitlines() if line.startswith("[")]
    assert all(line.startswith(("[a ", "[b ", "[c d ")) for line in headings)
    order = [[line.startswith(f"[{name} ") for name in names].index(True) for line in headings]
    assert order == sorted(order)


def test_the_likelier_thread_gets_more_of_the_budget(tmp_path, minilm):
    with Memory.open(tmp_path / "m.db", model=minilm) as memory:
        for name in ("cooking", "work"):
            memory.thread(name).add_many(
                (("user", "model")[n % 2], f"About {name}, item {n}: nothing special to report.")
                for n in range(60)
            )
        memory.thread("work").add("user", "New projects must run on one consumer GPU from May on.")
        hits = memory.search(
            "Which GPU do new projects run on?", threads=["cooking", "work"], budget=200
        )
        assert hits[0].thread == "work"
        assert any("consumer GPU" in turn.text for turn in hits[0].turns)


def test_a_thread_that_is_not_named_is_never_read(memory, tmp_path):
    """It is damaged, so that reading it would fail."""
    before = memory.search("bread", threads=["a", "b"], min_relevance=0)
    text = memory.context("bread", threads=["a", "b"], min_relevance=0)
    connection = sqlite3.connect(tmp_path / "memory.db")
    with connection:
        (number,) = connection.execute("SELECT id FROM thread WHERE name = 'c d'").fetchone()
        damage = "UPDATE turn SET vector = x'00' WHERE key >> 32 = ? AND key & 3 = 1"
        connection.execute(damage, (number,))
    connection.close()
    for name in memory.threads():
        memory.thread(name)._engine = None  # nothing is left in RAM
    assert memory.search("bread", threads=["a", "b"], min_relevance=0) == before
    assert memory.context("bread", threads=["a", "b"], min_relevance=0) == text
    with pytest.raises(StoreError):
        memory.search("bread", threads=["a", "c d"], min_relevance=0)


def test_threads_must_be_named_and_exist(memory):
    for wrong, message in (
        ([], "threads is empty"),
        ("a", "threads='a' is not a list"),
        (None, "threads=None is not a list"),
        ([""], "a thread name must have"),
        ([3], "is not a list of names"),
    ):
        for search in (memory.search, memory.context):
            with pytest.raises(InputError, match=message):
                search("bread", threads=wrong)
    with pytest.raises(ThreadMissingError, match="no thread 'z'"):
        memory.search("bread", threads=["a", "z"])
    with pytest.raises(TypeError):
        memory.search("bread")
    assert memory.threads() == ["a", "b", "c d"]


def test_no_thread_with_anything_relevant_gives_nothing(memory):
    memory.thread("empty").add("user", "x")
    memory.thread("empty").forget(turn=0)
    assert memory.search("bread", threads=["empty"]) == []
    assert memory.context("bread", threads=["empty"]) == ""
    hits = memory.search("bread", threads=["empty", "a"], min_relevance=0)
    assert {hit.thread for hit in hits} == {"a"}


def test_a_small_budget_is_not_divided_until_nothing_fits(tmp_path, minilm):
    with Memory.open(tmp_path / "m.db", model=minilm) as memory:
        for name in "abc":
            memory.thread(name).add("user", f"My locker code is 18-34-07 {name}")
        for budget in (40, 60, 100):
            found = memory.context("What is my locker code?", threads=[*"abc"], budget=budget)
            assert "18-34-07" in found
