import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.dict_store import DictStore
from tsim import OFFICIAL, Memory
from tsim.codec import vector_to_bytes
from tsim.errors import StoreError
from tsim.state import Changes
from tsim.store import SqliteStore
from tsim.store.migrations import Migration
from tsim.store.postgres import PostgresStore
from tsim.store.sqlite.migrate import known, migrate
from tsim.testing import StoreConformance
from tsim.testing.samples import COUNTERS, FIRST


class TestSqliteStore(StoreConformance):
    def open_store(self, path: Path) -> SqliteStore:
        return SqliteStore(path / "memory.db")


class TestDictStore(StoreConformance):
    def open_store(self, path: Path) -> DictStore:
        return DictStore(path)


class TestPostgresStore(StoreConformance):
    @pytest.fixture(autouse=True)
    def _address(self, postgres):
        self.address = postgres

    def open_store(self, path: Path) -> PostgresStore:
        return PostgresStore.open(self.address)


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


def test_a_file_without_the_table_of_spans_gets_it_when_it_is_opened(connection, tmp_path):
    migrate(connection, known()[:1])
    connection.execute("INSERT INTO thread VALUES (1, 'a', 1, 1, 0, 0, 0)")
    with closing(SqliteStore(tmp_path / "m.db")) as store:
        assert store.load("a").spans == []
        assert store.commit("a", FIRST, COUNTERS, expected=1, settings={})
        assert len(store.load("a").spans) == 3


@pytest.mark.parametrize("whole", [False, True], ids=["span", "thread"])
def test_the_vector_of_a_removed_span_leaves_no_byte_behind(tmp_path, whole):
    gone = FIRST.spans[1]

    def traces():
        secret = vector_to_bytes(gone.vector)
        return [path.name for path in tmp_path.iterdir() if secret in path.read_bytes()]

    with closing(SqliteStore(tmp_path / "m.db")) as store:
        written = store.commit("a", FIRST, COUNTERS, expected=0, settings={})
        assert traces()
        if whole:
            store.remove("a")
        else:
            changes = Changes(removed_spans=((gone.first, gone.last),))
            store.commit("a", changes, COUNTERS, expected=written[0], settings={})
        assert store.scrub()
        assert traces() == []


def test_a_file_that_is_no_memory_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_bytes(b"my notes\n" * 1000)
    with pytest.raises(StoreError, match="is not a memory file"):
        SqliteStore(path)
    assert path.read_bytes() == b"my notes\n" * 1000


def test_a_missing_directory_is_named(tmp_path):
    with pytest.raises(StoreError, match="create it first"):
        SqliteStore(tmp_path / "nowhere" / "m.db")


def test_a_database_in_ram_is_refused():
    with pytest.raises(StoreError, match="temporary file"):
        SqliteStore(":memory:")


def test_a_reader_is_of_no_use_after_its_snapshot(tmp_path):
    with closing(SqliteStore(tmp_path / "m.db")) as store:
        with store.snapshot() as reader:
            late = reader.all_turns("a")
        for read in (reader.threads, lambda: list(late)):
            with pytest.raises(StoreError, match="has ended"):
                read()


def test_a_closed_store_says_so_and_a_snapshot_may_end_after_it(tmp_path):
    store = SqliteStore(tmp_path / "m.db")
    with store.snapshot() as reader:
        store.close()
        assert reader.threads() == []
    with pytest.raises(StoreError, match="is closed"):
        store.threads()
    with pytest.raises(StoreError):
        store.note({"model": "x"})


def test_any_number_of_snapshots_can_be_open_at_once_and_leaves_no_lock(tmp_path):
    with closing(SqliteStore(tmp_path / "m.db")) as store:
        together = threading.Barrier(12)

        def read():
            with store.snapshot() as reader:
                assert reader.threads() == []
                together.wait(10)

        readers = [threading.Thread(target=read) for _ in range(12)]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        assert store.scrub()


def test_text_with_nul_is_kept_exactly(tmp_path, tiny_embedder):
    with Memory.open(tmp_path / "m.db", model=tiny_embedder, preset=OFFICIAL) as memory:
        memory.thread("a").add("user", "one \0 gpu")
        assert memory.thread("a").turns()[0].text == "one \0 gpu"
