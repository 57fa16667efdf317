"""Files that may not be written are searched and exported, by a user who may not write them."""

import os
import shutil
import sqlite3
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.support.streams import exported, stream
from tsim import InputError, Memory, StoreBusyError, StoreError, StoreReadOnlyError
from tsim.store import SqliteStore
from tsim.store.sqlite.migrate import known, migrate

NOBODY = 65534


@pytest.fixture
def place():
    """A directory that other users can reach, unlike pytest's own."""
    directory = Path(tempfile.mkdtemp(prefix="tsim-read-only-"))
    directory.chmod(0o755)
    yield directory
    for path in [directory, *directory.rglob("*")]:
        path.chmod(0o700)
    shutil.rmtree(directory)


@contextmanager
def another_user():
    """Becomes a user without privileges, if this one has them: root may write anything."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def protect(directory: Path, *, owner: int = NOBODY) -> None:
    """Nothing in the directory may be written, nor may files be made there."""
    for path in directory.iterdir():
        path.chmod(0o400 if owner == NOBODY else 0o444)
    directory.chmod(0o500 if owner == NOBODY else 0o555)
    if os.geteuid() == 0:
        for path in [directory, *directory.iterdir()]:
            os.chown(path, owner, owner)


def listing(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}


def written(place: Path, embedder, preset, *, left: tuple[str, ...]) -> Path:
    """Writes a memory as a process leaves it that was killed: with these files beside it."""
    (place / "work").mkdir()
    (place / "kept").mkdir()
    with Memory.open(place / "work" / "m.db", model=embedder, preset=preset) as memory:
        memory.thread("a").add_many(stream(30))
        with closing(sqlite3.connect(place / "work" / "m.db")) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        memory.thread("a").add("user", "only in the log: xylophone")
        if left:
            for suffix in ("", *left):
                shutil.copy(place / "work" / f"m.db{suffix}", place / "kept")
    if not left:
        shutil.copy(place / "work" / "m.db", place / "kept")
    return place / "kept" / "m.db"


@pytest.mark.parametrize("left", [(), ("-wal", "-shm")], ids=["closed", "with a log"])
def test_a_protected_file_is_searched_exported_and_copied(place, tiny_embedder, preset, left):
    path = written(place, tiny_embedder, preset, left=left)
    with Memory.open(place / "work" / "m.db", model=tiny_embedder, preset=preset) as memory:
        expected = exported(memory, place / "expected.jsonl")
        (place / "expected.jsonl").chmod(0o644)
        hits = memory.thread("a").search("xylophone", min_relevance=0)
        episodes = memory.thread("a").episodes()
    before = listing(path.parent)
    protect(path.parent)
    (place / "out").mkdir()
    (place / "out").chmod(0o777)
    with another_user():
        # SQLite opens a file with a log even so, and fails at the first change.
        with (
            pytest.raises(StoreReadOnlyError, match=r"read_only=True \(--read-only\)"),
            Memory.open(path, model=tiny_embedder, preset=preset) as memory,
        ):
            memory.thread("a").add("user", "bread")
        with Memory.open(path, model=tiny_embedder, read_only=True) as memory:
            thread = memory.thread("a")
            assert "read-only" in repr(memory)
            assert len(thread) == 31
            assert thread.search("xylophone", min_relevance=0) == hits
            assert thread.episodes() == episodes
            assert exported(memory, place / "out" / "ours.jsonl") == expected
            assert memory.verify().problems == ()
            memory.backup(place / "out" / "copy.db")
            for change in (
                lambda: thread.add("user", "bread"),
                lambda: thread.forget(turn=1),
                lambda: memory.forget_thread("a"),
                lambda: memory.import_(place / "expected.jsonl"),
                memory.rebuild,
            ):
                with pytest.raises(StoreReadOnlyError, match="opened read-only"):
                    change()
            assert len(thread) == 31
    path.parent.chmod(0o700)
    assert listing(path.parent) == before
    with Memory.open(place / "out" / "copy.db", model=tiny_embedder) as memory:
        assert exported(memory, place / "copy.jsonl") == expected


def test_a_log_that_cannot_be_read_is_not_left_out_silently(place, tiny_embedder, preset):
    """Without the log's index SQLite would have to write one; without the log a turn is lost."""
    path = written(place, tiny_embedder, preset, left=("-wal",))
    protect(path.parent)
    with another_user(), pytest.raises(StoreReadOnlyError, match=r"copy m\.db and m\.db-wal"):
        Memory.open(path, model=tiny_embedder, read_only=True)


def test_the_turns_of_a_running_writer_are_seen(place, tiny_embedder, preset):
    """One's own directory, which others may read: they follow while the owner writes."""
    home = place / "home"
    home.mkdir()
    with Memory.open(home / "m.db", model=tiny_embedder, preset=preset) as owner:
        owner.thread("a").add_many(stream(5))
    home.chmod(0o755)
    (home / "m.db").chmod(0o644)
    with another_user():
        reading = Memory.open(home / "m.db", model=tiny_embedder, read_only=True)
        assert len(reading.thread("a")) == 5
    with closing(reading), Memory.open(home / "m.db", model=tiny_embedder, preset=preset) as owner:
        for number in range(5, 25):
            owner.thread("a").add("user", f"bread {number}")
            with another_user():
                assert len(reading.thread("a")) == number + 1
                assert reading.thread("a").turns()[-1].text == f"bread {number}"
                ours = reading.thread("a").search("bread", min_relevance=0)
            assert ours == owner.thread("a").search("bread", min_relevance=0)
        owner.thread("a").forget(turn=3)  # rewrites the file
        with another_user():
            assert [turn.id for turn in reading.thread("a")][:4] == [0, 1, 2, 4]


def test_nothing_is_left_beside_a_file_in_a_directory_that_may_be_written(
    tmp_path, tiny_embedder, preset
):
    path = tmp_path / "m.db"
    with Memory.open(path, model=tiny_embedder, preset=preset) as memory:
        memory.thread("a").add_many(stream(10))
    before = listing(tmp_path)
    with Memory.open(path, model=tiny_embedder, read_only=True) as memory:
        assert len(memory.thread("a").turns()) == 10
        assert listing(tmp_path) == before
    assert listing(tmp_path) == before


def test_a_file_that_changes_under_a_snapshot_is_noticed(tmp_path, tiny_embedder, preset):
    path = tmp_path / "m.db"
    with Memory.open(path, model=tiny_embedder, preset=preset) as memory:
        memory.thread("a").add_many(stream(10))
    with closing(SqliteStore(path, read_only=True)) as store:
        with (
            pytest.raises(StoreBusyError, match="was changed while it was read"),
            store.snapshot() as reader,
        ):
            assert reader.count("a") == 10
            with Memory.open(path, model=tiny_embedder, preset=preset) as memory:
                memory.thread("a").add("user", "bread")  # written to the file when it closes
        assert store.count("a") == 11


def test_what_cannot_be_opened_read_only_says_why(tmp_path, tiny_embedder, preset):
    with pytest.raises(StoreError, match="does not exist"):
        Memory.open(tmp_path / "typo.db", model=tiny_embedder, read_only=True)
    assert not (tmp_path / "typo.db").exists()
    (tmp_path / "notes.txt").write_text("my notes\n" * 500)
    with pytest.raises(StoreError, match="is not a memory file"):
        Memory.open(tmp_path / "notes.txt", model=tiny_embedder, read_only=True)
    with closing(sqlite3.connect(tmp_path / "theirs.db")) as connection:
        connection.execute("CREATE TABLE invoices (x)")
    with pytest.raises(StoreError, match="is a database of another program"):
        Memory.open(tmp_path / "theirs.db", model=tiny_embedder, read_only=True)
    with closing(sqlite3.connect(tmp_path / "old.db", isolation_level=None)) as connection:
        migrate(connection, known()[:1])
    with pytest.raises(StoreError, match="older version and lacks schema step 0002"):
        Memory.open(tmp_path / "old.db", model=tiny_embedder, read_only=True)
    with Memory.open(tmp_path / "m.db", model=tiny_embedder, preset=preset):
        pass
    with pytest.raises(InputError, match="rebuilt read-only"):
        Memory.open(tmp_path / "m.db", model=tiny_embedder, read_only=True, rebuild=True)
    with Memory.open(tmp_path / "m.db", model=tiny_embedder, read_only=True) as memory:
        assert memory.threads() == []
    with closing(SqliteStore(tmp_path / "m.db")) as store, pytest.raises(InputError):
        Memory.open(store=store, model=tiny_embedder, read_only=True)


def test_a_file_of_another_name_in_a_uri_is_read(tmp_path, tiny_embedder, preset):
    path = tmp_path / "a b?c#d%20é.db"
    with Memory.open(path, model=tiny_embedder, preset=preset) as memory:
        memory.thread("a").add("user", "bread")
    with Memory.open(path, model=tiny_embedder, read_only=True) as memory:
        assert len(memory.thread("a")) == 1
