import sqlite3
from pathlib import Path

import pytest

from tsim.errors import StoreError
from tsim.store import SqliteStore
from tsim.store.sqlite.migrate import Migration, known, migrate
from tsim.testing import StoreConformance


class TestSqliteStore(StoreConformance):
    def open_store(self, path: Path) -> SqliteStore:
        return SqliteStore(path / "memory.db")


@pytest.fixture
def connection(tmp_path):
    connection = sqlite3.connect(tmp_path / "m.db", isolation_level=None)
    yield connection
    connection.close()


def test_a_schema_step_that_changed_after_it_was_applied_is_refused(connection):
    migrate(connection, [Migration(1, "0001_a.sql", "CREATE TABLE a (x);")])
    changed = Migration(1, "0001_a.sql", "CREATE TABLE a (x, y);")
    with pytest.raises(StoreError) as caught:
        migrate(connection, [changed])
    assert changed.sha256 in str(caught.value)
    assert Migration(1, "", "CREATE TABLE a (x);").sha256 in str(caught.value)


def test_a_memory_of_a_newer_version_is_refused(connection):
    steps = [Migration(n, f"000{n}.sql", f"CREATE TABLE t{n} (x);") for n in (1, 2)]
    migrate(connection, steps)
    with pytest.raises(StoreError, match="newer version"):
        migrate(connection, steps[:1])


def test_missing_steps_are_applied_in_order_and_only_once(connection):
    steps = [Migration(n, f"000{n}.sql", f"CREATE TABLE t{n} (x);") for n in (1, 2)]
    migrate(connection, steps[:1])
    migrate(connection, steps)
    migrate(connection, steps)
    names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master ORDER BY name")]
    assert names == ["migration", "t1", "t2"]


def test_a_step_that_fails_leaves_nothing_behind(connection):
    broken = Migration(1, "0001.sql", "CREATE TABLE a (x);\nCREATE TABLE a (x);")
    with pytest.raises(sqlite3.OperationalError):
        migrate(connection, [broken])
    assert connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)


def test_shipped_steps_are_numbered_without_gaps():
    assert [step.number for step in known()] == list(range(1, len(known()) + 1))


def test_a_file_that_is_no_memory_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_bytes(b"my notes\n" * 1000)
    with pytest.raises(StoreError, match="is not a memory file"):
        SqliteStore(path)
    assert path.read_bytes() == b"my notes\n" * 1000


def test_a_missing_directory_is_named(tmp_path):
    with pytest.raises(StoreError, match="create it first"):
        SqliteStore(tmp_path / "nowhere" / "m.db")
