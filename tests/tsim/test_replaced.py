"""The file under an open memory, and files that are no memories."""

import shutil
import sqlite3
from contextlib import closing

import pytest

from tests.support.streams import stream
from tsim import Memory
from tsim.errors import StoreError
from tsim.store import SqliteStore


@pytest.mark.parametrize("how", ["deleted", "replaced", "renamed", "log deleted"])
def test_a_file_that_is_gone_is_noticed_before_anything_is_acknowledged(
    tmp_path, tiny_embedder, preset, how
):
    path = tmp_path / "m.db"
    with Memory.open(tmp_path / "other.db", model=tiny_embedder, preset=preset) as other:
        other.thread("a").add("user", "another memory")
    before = (tmp_path / "other.db").read_bytes()
    with Memory.open(path, model=tiny_embedder, preset=preset) as memory:
        thread = memory.thread("a")
        thread.add_many(stream(3))
        if how == "deleted":
            for file in tmp_path.glob("m.db*"):
                file.unlink()
        elif how == "replaced":
            (tmp_path / "other.db").replace(path)
        elif how == "renamed":
            path.rename(tmp_path / "elsewhere.db")
        else:
            (tmp_path / "m.db-wal").unlink()
        for work in (
            lambda: thread.add("user", "lost"),
            lambda: thread.turns(),
            lambda: thread.search("bread"),
            lambda: thread.forget(turn=0),
            lambda: memory.backup(tmp_path / "copy.db"),
        ):
            with pytest.raises(StoreError, match="deleted or replaced while it was open"):
                work()
        assert "deleted or replaced while it was open" in memory.verify().problems[0]
    if how == "replaced":
        assert path.read_bytes() == before
    if how == "log deleted":  # what was acknowledged before is kept
        with Memory.open(path, model=tiny_embedder, preset=preset) as memory:
            assert len(memory.thread("a").turns()) == 3


def plain(path):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE invoices (x)")


def like_ours(path):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE migration (id INTEGER PRIMARY KEY, name TEXT)")


def numbered(path):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA user_version = 7")


def logged(path):
    """A database in use by another program, with everything still in its log."""
    connection = sqlite3.connect(path.with_name("theirs.db"))
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    with connection:
        connection.execute("CREATE TABLE invoices (x)")
    for suffix in ("", "-wal", "-shm"):
        shutil.copyfile(path.with_name(f"theirs.db{suffix}"), path.with_name(path.name + suffix))
    connection.close()


def logged_without_index(path):
    logged(path)
    path.with_name(f"{path.name}-shm").unlink()


def checkpointed(path):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE invoices (x)")


def interrupted(path):
    """A database whose last transaction is to be rolled back."""
    other = path.with_name("theirs.db")
    plain(other)
    connection = sqlite3.connect(other, isolation_level=None)
    connection.execute("PRAGMA cache_size = 1")
    connection.execute("BEGIN")
    connection.executemany("INSERT INTO invoices VALUES (?)", [("x" * 3000,)] * 300)
    for suffix in ("", "-journal"):
        shutil.copyfile(other.with_name(other.name + suffix), path.with_name(path.name + suffix))
    connection.close()


@pytest.mark.parametrize(
    "make",
    [plain, like_ours, numbered, logged, logged_without_index, checkpointed, interrupted],
    ids=lambda make: make.__name__,
)
@pytest.mark.parametrize("read_only", [False, True], ids=["write", "read"])
def test_a_database_of_another_program_is_left_byte_for_byte_as_it_was(tmp_path, make, read_only):
    path = tmp_path / "foreign" / "m.db"
    path.parent.mkdir()
    make(path)

    def content():
        # The index of a log is not content: it says who reads.
        files = (file for file in path.parent.iterdir() if not file.name.endswith("-shm"))
        return {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in files}

    before, names = content(), {file.name for file in path.parent.iterdir()}
    with pytest.raises(StoreError, match="another program"):
        SqliteStore(path, read_only=read_only)
    assert content() == before
    assert {file.name for file in path.parent.iterdir()} == names


def test_a_memory_whose_writer_was_killed_is_recognised_by_its_log(tmp_path):
    """Before the first checkpoint the file has no tables: everything is in the log."""
    live = tmp_path / "live.db"
    with closing(SqliteStore(live)) as store:
        store.note({"model": "x"})
        for suffixes in (("", "-wal"), ("", "-wal", "-shm")):
            path = tmp_path / f"{len(suffixes)}.db"
            for suffix in suffixes:
                shutil.copyfile(f"{live}{suffix}", f"{path}{suffix}")
            with closing(SqliteStore(path)) as copy:
                assert copy.settings() == {"model": "x"}
