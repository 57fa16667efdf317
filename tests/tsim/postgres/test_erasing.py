"""What is forgotten is gone from SQL at once, and from the files of tables where that is said."""

import threading

import psycopg
import pytest

from tests.support.postgres import OWNER
from tests.support.streams import EAGER, stream
from tsim import Memory
from tsim.store.postgres import PostgresDatabase, erasing

SECRET = "zanzibar-4711-marmalade"


@pytest.fixture
def database(cluster):
    return cluster.create()


@pytest.fixture
def address(cluster, database):
    return cluster.url(database, OWNER, "alice")


def traces(cluster, database):
    """Returns the files of a database that have the secret, after all was written to them."""
    with cluster.connected(database) as connection:
        connection.execute("CHECKPOINT")
        ((oid,),) = connection.execute(
            "SELECT oid FROM pg_database WHERE datname = current_database()"
        ).fetchall()
    folder = cluster.data / "base" / str(oid)
    return [path.name for path in folder.iterdir() if SECRET.encode() in path.read_bytes()]


@pytest.mark.parametrize("whole", [False, True], ids=["turn", "thread"])
def test_the_files_of_tables_have_nothing_of_what_was_erased(
    cluster, database, address, tiny_embedder, whole
):
    with Memory.open(address, model=tiny_embedder, preset=EAGER) as memory:
        thread = memory.thread(SECRET if whole else "a")
        thread.add_many(stream(30))
        thread.add("user", f"my word is {SECRET}", id=SECRET, meta={"word": SECRET})
        with cluster.connected(database) as connection:
            connection.execute("ANALYZE")  # which samples columns, but none with content
        assert traces(cluster, database)
        if whole:
            memory.forget_thread(thread.name)
        else:
            assert thread.forget(turn=30).scrubbed
        assert memory.erased
        assert traces(cluster, database) == []
        assert memory.verify().problems == ()


def test_a_reader_that_may_still_see_it_is_waited_for_by_nobody(
    cluster, database, address, tiny_embedder
):
    with Memory.open(address, model=tiny_embedder, preset=EAGER) as memory:
        thread = memory.thread("a")
        thread.add_many(stream(30))
        thread.add("user", f"my word is {SECRET}")
        with psycopg.connect(cluster.url(database, OWNER)) as reader:
            reader.execute("SELECT set_config('tsim.namespace', 'alice', true)")
            reader.execute("SELECT count(*) FROM tsim.turn")
            assert not thread.forget(turn=30).scrubbed
            assert not memory.erased
            assert SECRET not in str(thread.turns())
            assert thread.add("user", "nobody is held up").turn == 31
        # A snapshot that began before keeps rows that it may see, although no table is locked.
        with psycopg.connect(cluster.url(database, OWNER)) as reader:
            reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            reader.execute("SELECT 1")
            assert not thread.forget(turn=3).scrubbed
        assert memory.verify().problems == ()
        assert memory.erased
        assert traces(cluster, database) == []


def test_large_tables_are_left_to_whoever_runs_the_server(
    cluster, address, tiny_embedder, monkeypatch
):
    monkeypatch.setattr(erasing, "LARGEST", 0)
    with Memory.open(address, model=tiny_embedder, preset=EAGER) as memory:
        memory.thread("a").add_many(stream(30))
        assert not memory.thread("a").forget(turn=3).scrubbed
        (problem,) = memory.verify().problems
        assert "may still be recoverable" in problem


def test_others_add_while_somebody_forgets(cluster, database, tiny_embedder):
    """Tables that are in use are passed over, and nobody fails."""
    with PostgresDatabase(cluster.url(database, OWNER)) as opened:
        ours = Memory.open(store=opened.store("ours"), model=tiny_embedder, preset=EAGER)
        theirs = Memory.open(store=opened.store("theirs"), model=tiny_embedder, preset=EAGER)
        ours.thread("a").add_many(stream(20))
        done, added = threading.Event(), []

        def add():
            while not done.is_set():
                added.append(theirs.thread("b").add("user", "budget letter").turn)

        adding = threading.Thread(target=add)
        adding.start()
        try:
            for turn in range(5):
                ours.thread("a").forget(turn=turn)
        finally:
            done.set()
            adding.join()
        assert added == [*range(len(added))]
        assert len(theirs.thread("b")) == len(added)
        assert ours.verify().problems == theirs.verify().problems == ()
