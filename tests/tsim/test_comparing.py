"""A thread under another preset: what a memory of that preset finds, without writing."""

import pytest

from tests.support.streams import exported, stream
from tsim import LATE, LONGMEMEVAL, OFFICIAL, InputError, Memory, ThreadMissingError

QUERY = "the rule for new projects"


@pytest.fixture
def memory(tiny_embedder, tmp_path):
    with Memory.open(tmp_path / "m.db", model=tiny_embedder) as opened:
        opened.thread("t").add_many(stream(70))
        opened.thread("t").forget(turns=[5, 6, 30])
        yield opened


@pytest.mark.parametrize("preset", [OFFICIAL, LONGMEMEVAL, LATE], ids=lambda p: p.name)
def test_a_rehearsal_finds_what_a_memory_of_that_preset_finds(
    memory, preset, tiny_embedder, tmp_path
):
    asked = memory.thread("t").prepare(QUERY, budget=300)
    other = memory.rehearse("t", preset.name)
    found = other.find(asked)
    copy = tmp_path / "copy.db"
    memory.backup(copy)
    with Memory.open(copy, model=tiny_embedder, preset=preset, rebuild=True) as rebuilt:
        thread = rebuilt.thread("t")
        wanted = thread.search(QUERY, budget=300)
        assert found and found == wanted
        assert other.write(found) == thread.write(wanted)


def test_nothing_is_written_and_vectors_of_turns_are_not_computed_again(memory, tmp_path):
    before = exported(memory, tmp_path / "before.jsonl")
    # Longer ones are stored in passages, which this preset does not use.
    known = {turn.text for turn in memory.thread("t") if len(turn.text.split()) <= 20}
    inner = memory._embedder.inner
    seen: list[str] = []

    class Watching:
        identity, dimension = inner.identity, inner.dimension

        def embed(self, texts):
            seen.extend(texts)
            return inner.embed(texts)

        def embed_query(self, text):
            return inner.embed([text])[0]

    memory._embedder.inner = Watching()
    memory.rehearse("t", "official")
    assert seen and known and not known & {*seen}
    assert exported(memory, tmp_path / "after.jsonl") == before


def test_a_rehearsal_is_used_again_until_the_thread_changes(memory):
    first = memory.rehearse("t", "official")
    assert memory.rehearse("t", "official", known=first) is first
    assert memory.rehearse("t", "longmemeval", known=first) is not first
    memory.thread("t").forget(turns=[3])
    second = memory.rehearse("t", "official", known=first)
    assert second is not first
    ids = {turn.id for hit in second.find(memory.thread("t").prepare(QUERY)) for turn in hit.turns}
    assert ids and 3 not in ids


def test_what_cannot_be_rehearsed_is_refused(memory):
    with pytest.raises(InputError, match="67 turns; at most 20"):
        memory.rehearse("t", "official", most=20)
    with pytest.raises(InputError, match="no preset"):
        memory.rehearse("t", "nonsense")
    with pytest.raises(ThreadMissingError):
        memory.rehearse("x", "official")
