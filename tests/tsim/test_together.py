"""Transactions of several threads that reach the disk together."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from tsim.store.sqlite.together import Together

PATIENCE = 20


class Crowd:
    """Threads that write rows to a file."""

    def __init__(self, path: Path) -> None:
        self.statements: list[str] = []
        self.connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.execute("CREATE TABLE row (name TEXT UNIQUE)")
        self.connection.set_trace_callback(self.statements.append)
        self.together = Together(self.connection, lambda: None)
        self.pool = ThreadPoolExecutor(8)
        self._path = path

    def rows(self) -> list[str]:
        """What another process would see."""
        with closing(sqlite3.connect(self._path)) as other:
            return [name for (name,) in other.execute("SELECT name FROM row ORDER BY name")]

    def write(self, name: str, then: Callable[[], object] = lambda: None) -> Future[None]:
        def work() -> None:
            with self.together.sharing() as connection:
                connection.execute("INSERT OR ROLLBACK INTO row VALUES (?)", (name,))
                then()

        return self.pool.submit(work)

    def queued(self, *names: str, then: Callable[[], object] = lambda: None) -> list[Future[None]]:
        """Lets threads write one after the other, of which the last does something more."""
        held, release = threading.Event(), threading.Event()

        def hold() -> None:
            held.set()
            release.wait(PATIENCE)

        found = [self.write(names[0], hold)]
        held.wait(PATIENCE)
        for place, name in enumerate(names[1:], 1):
            found.append(self.write(name, then if name == names[-1] else lambda: None))
            while self.together._coming < place:
                time.sleep(0.001)
        release.set()
        return found


@pytest.fixture
def crowd(tmp_path: Path) -> Iterator[Crowd]:
    found = Crowd(tmp_path / "rows.db")
    with found.pool:
        yield found
    found.connection.close()


def raise_(error: BaseException) -> None:
    raise error


def test_those_who_wait_share_a_commit(crowd: Crowd) -> None:
    for one in crowd.queued("a", "b", "c"):
        one.result(PATIENCE)
    assert crowd.statements.count("COMMIT") == 1
    assert crowd.rows() == ["a", "b", "c"]


def test_who_is_alone_waits_for_nobody(crowd: Crowd) -> None:
    crowd.write("a").result(PATIENCE)
    crowd.write("b").result(PATIENCE)
    assert crowd.statements.count("COMMIT") == 2
    assert "SAVEPOINT own" not in crowd.statements


def test_nobody_goes_on_before_the_commit(crowd: Crowd) -> None:
    go = threading.Event()
    found = crowd.queued("a", "b", then=lambda: go.wait(PATIENCE))
    time.sleep(0.2)
    assert not any(one.done() for one in found)
    assert crowd.rows() == []
    go.set()
    for one in found:
        one.result(PATIENCE)
    assert crowd.rows() == ["a", "b"]


def test_who_fails_takes_back_what_is_theirs(crowd: Crowd) -> None:
    first, last = crowd.queued("a", "b", then=lambda: raise_(ValueError("no")))
    first.result(PATIENCE)
    with pytest.raises(ValueError, match="no"):
        last.result(PATIENCE)
    assert crowd.rows() == ["a"]


def test_all_fail_if_everything_was_rolled_back(crowd: Crowd) -> None:
    for one in crowd.queued("a", "a"):  # of more, a third may come after the one that fails
        with pytest.raises(sqlite3.IntegrityError):
            one.result(PATIENCE)
    assert crowd.rows() == []
    crowd.write("c").result(PATIENCE)
    assert crowd.rows() == ["c"]


def test_all_fail_if_the_commit_fails(crowd: Crowd) -> None:
    crowd.connection.execute("PRAGMA foreign_keys = ON")
    crowd.connection.execute(
        "CREATE TABLE late (name TEXT REFERENCES row (name) DEFERRABLE INITIALLY DEFERRED)"
    )
    wrong = "INSERT INTO late VALUES ('nobody')"
    for one in crowd.queued("a", "b", then=lambda: crowd.connection.execute(wrong)):
        with pytest.raises(sqlite3.IntegrityError):
            one.result(PATIENCE)
    assert crowd.rows() == []
    crowd.write("c").result(PATIENCE)
    assert crowd.rows() == ["c"]


def test_those_who_never_come_are_not_waited_for(crowd: Crowd) -> None:
    crowd.together._count(1)
    crowd.write("a").result(PATIENCE)
    assert crowd.rows() == ["a"]


def test_other_work_finds_no_transaction(crowd: Crowd) -> None:
    crowd.together._count(1)
    one = crowd.write("a")
    while crowd.together._group is None and not one.done():
        time.sleep(0.001)
    with crowd.together.alone() as connection:
        assert not connection.in_transaction
        connection.execute("VACUUM")
    one.result(PATIENCE)
    assert crowd.rows() == ["a"]
