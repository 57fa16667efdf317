"""Backups: one state of a memory that others go on using, whole or not at all."""

import stat
import threading

import pytest

from tests.support.dict_store import DictStore
from tests.support.streams import exported, stream
from tests.tsim.test_forget import SECRET, secretive
from tsim import InputError, Memory, StoreError


@pytest.fixture
def memory(tmp_path, tiny_embedder, preset):
    with Memory.open(tmp_path / "memory.db", model=tiny_embedder, preset=preset) as memory:
        memory.thread("a").add_many(secretive(40))
        memory.thread("b").add_many(stream(10))
        yield memory


def test_a_backup_is_the_same_memory_for_its_owner_alone(memory, tmp_path, tiny_embedder):
    memory.backup(tmp_path / "copy.db")
    assert stat.S_IMODE((tmp_path / "copy.db").stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir() if "copy" in path.name) == ["copy.db"]
    with Memory.open(tmp_path / "copy.db", model=tiny_embedder) as copy:
        assert exported(copy, tmp_path / "y") == exported(memory, tmp_path / "x")
        assert copy.verify().problems == ()
        hits = memory.thread("a").search("bread", min_relevance=0)
        assert copy.thread("a").search("bread", min_relevance=0) == hits
        copy.thread("a").add("user", "only in the copy")
    assert len(memory.thread("a")) == 40


def test_what_was_forgotten_is_not_in_a_backup(memory, tmp_path, tiny_embedder):
    """Not even while another reader keeps the bytes in the memory itself."""
    with memory._store.snapshot() as reader:
        assert reader.count("a") == 40
        assert not memory.thread("a").forget(turn=17).scrubbed
        memory.backup(tmp_path / "copy.db")
    secret = SECRET.format(17).encode() + b"."
    assert secret not in (tmp_path / "copy.db").read_bytes()
    with Memory.open(tmp_path / "copy.db", model=tiny_embedder) as copy:
        assert not copy._store.scrub_due()
        assert len(copy.thread("a")) == 39


def test_backups_are_sound_while_others_write(tmp_path, tiny_embedder, preset):
    stop = threading.Event()

    def write():
        with Memory.open(tmp_path / "m.db", model=tiny_embedder, preset=preset) as memory:
            for turn in stream(5000):
                if stop.is_set():
                    return
                added = memory.thread("a").add(turn.role, turn.text).turn
                if added % 7 == 6:
                    memory.thread("a").forget(turns=[added - 2, added - 4])

    with Memory.open(tmp_path / "m.db", model=tiny_embedder, preset=preset) as memory:
        memory.thread("a").add_many(stream(21))
        writer = threading.Thread(target=write)
        writer.start()
        try:
            sizes = []
            for _ in range(5):
                memory.backup(tmp_path / "copy.db", overwrite=True)
                with Memory.open(tmp_path / "copy.db", model=tiny_embedder) as copy:
                    assert copy.verify().problems == ()
                    sizes.append(copy.thread("a").turns())
        finally:
            stop.set()
            writer.join()
    newest = [turns[-1].id if turns else 0 for turns in sizes]
    assert newest == sorted(newest)


def test_nothing_is_overwritten_unless_told(memory, tmp_path, tiny_embedder, preset):
    precious = tmp_path / "precious.db"
    precious.write_text("precious")
    with pytest.raises(InputError, match=r"exists; .*overwrite=True"):
        memory.backup(precious)
    assert precious.read_text() == "precious"
    memory.backup(precious, overwrite=True)
    with Memory.open(precious, model=tiny_embedder) as copy:
        assert len(copy.thread("a")) == 40
        # It is in use: its log would be applied to the new file.
        copy.thread("a").add("user", "bread")
        with pytest.raises(InputError, match=r"precious\.db-wal belongs to a database"):
            memory.backup(precious, overwrite=True)
    for wrong, message in (
        (tmp_path / "memory.db", "is the memory itself"),
        (tmp_path, "is a directory"),
        (tmp_path / "nowhere" / "x.db", "cannot be written"),
    ):
        with pytest.raises(InputError, match=message):
            memory.backup(wrong, overwrite=True)
    assert len(memory.thread("a")) == 40
    assert not list(tmp_path.glob(".*.part"))


def test_a_store_that_is_no_file_says_what_to_do_instead(tmp_path, tiny_embedder):
    with (
        Memory.open(store=DictStore(tmp_path / "here"), model=tiny_embedder) as memory,
        pytest.raises(StoreError, match=r"is not a file.*; use the backups .* copy the memory"),
    ):
        memory.backup(tmp_path / "copy.db")
    assert list(tmp_path.iterdir()) == []
