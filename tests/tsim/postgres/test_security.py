"""Rows belong to a namespace: raw SQL of an ordinary user sees and changes no others."""

import psycopg
import pytest

from tests.support.postgres import OWNER
from tests.support.streams import stream
from tsim import OFFICIAL, InputError, Memory
from tsim.store.postgres import PostgresDatabase

TABLES = ["memory", "thread", "turn", "passage", "episode", "cluster", "member", "span", "line"]


# Of the turns that are written here, none is long and no runs are embedded.
EMPTY = {"passage", "span"}


@pytest.fixture
def database(cluster):
    return cluster.create()


@pytest.fixture
def filled(cluster, database, tiny_embedder):
    """A database with two namespaces."""
    with PostgresDatabase(cluster.url(database, OWNER)) as opened:
        for namespace in ("ours", "theirs"):
            store = opened.store(namespace)
            memory = Memory.open(store=store, model=tiny_embedder, preset=OFFICIAL)
            memory.thread("a").add_many(stream(20))
        yield opened


@pytest.mark.parametrize("setting", [None, "", "other", "ours' OR true --", "theirs", "*"])
def test_raw_sql_sees_and_changes_no_other_namespace(cluster, database, filled, setting):
    filled.store("ours").line_up("a", seconds=60)
    filled.store("theirs").line_up("a", seconds=60)
    with psycopg.connect(cluster.url(database, OWNER)) as connection:
        if setting is not None:
            connection.execute("SELECT set_config('tsim.namespace', %s, true)", (setting,))
        for table in TABLES:
            found = connection.execute(f"SELECT DISTINCT namespace FROM tsim.{table}").fetchall()
            own = ["theirs"] if setting == "theirs" and table not in EMPTY else []
            # Whoever says * sees which namespaces there are, and nothing in them.
            listed = ["ours", "theirs"] if (table, setting) == ("memory", "*") else own
            assert sorted(name for (name,) in found) == listed
            update = f"UPDATE tsim.{table} SET namespace = namespace"
            for change in (update, f"DELETE FROM tsim.{table}"):
                assert connection.execute(f"{change} WHERE namespace = 'ours'").rowcount == 0
        connection.rollback()


def test_rows_cannot_be_given_to_another_namespace(cluster, database, filled):
    with psycopg.connect(cluster.url(database, OWNER), autocommit=True) as connection:
        for statement in (
            "UPDATE tsim.turn SET namespace = 'ours'",
            "INSERT INTO tsim.memory (namespace) VALUES ('new')",
        ):
            with (
                pytest.raises(psycopg.errors.InsufficientPrivilege),
                connection.transaction(),
            ):
                connection.execute("SELECT set_config('tsim.namespace', 'theirs', true)")
                connection.execute(statement)


def test_the_setting_ends_with_its_transaction(filled, cluster, database):
    """So that a pooler may give the session to somebody else."""
    assert filled.store("ours").count("a") == 20
    pool = filled._pool
    with pool.lend() as connection:
        ((left,),) = connection.execute("SELECT current_setting('tsim.namespace', true)").fetchall()
        assert not left
        assert connection.execute("SELECT count(*) FROM tsim.turn").fetchall() == [(0,)]
        prepared = connection.execute("SELECT count(*) FROM pg_prepared_statements").fetchall()
        assert prepared == [(0,)]
        held = (
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"
        )
        assert connection.execute(held).fetchall() == [(0,)]


def test_a_database_knows_its_namespaces_and_whether_they_are_guarded(cluster, database, filled):
    assert filled.namespaces() == ["ours", "theirs"]
    assert filled.has("ours")
    assert not filled.has("nobody")
    assert not filled.bypasses_security()
    with PostgresDatabase(cluster.url(database)) as opened:
        assert opened.bypasses_security()
        assert opened.namespaces() == ["ours", "theirs"]
        # Statements name their namespace, whoever runs them.
        store = opened.store("ours")
        assert store.threads() == ["a"]
        assert store.remove("a")
        assert opened.store("theirs").count("a") == 20
        assert opened.store("nobody").threads() == []


def test_stores_share_the_connections_and_do_not_close_them(filled):
    one, two = filled.store("ours"), filled.store("theirs")
    one.close()
    assert two.threads() == ["a"]
    assert one.threads() == ["a"]
    filled.close()
    with pytest.raises(Exception, match="is closed"):
        two.threads()


@pytest.mark.parametrize("name", ["*", "", "a b", "a/b", "-a", "é", "x" * 64, "a\n"])
def test_names_of_namespaces_are_checked(filled, name):
    with pytest.raises(InputError, match="is no namespace"):
        filled.store(name)


def test_a_role_with_nothing_but_rights_to_rows_can_use_a_memory(
    cluster, database, filled, tiny_embedder
):
    """The owner makes the tables; whoever uses them need not be able to."""
    with cluster.connected(database) as connection:
        connection.execute("CREATE ROLE guest LOGIN")
        connection.execute("GRANT USAGE ON SCHEMA tsim TO guest")
        connection.execute(
            "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA tsim TO guest"
        )
    try:
        address = f"{cluster.url(database, 'guest')}#ours"
        with Memory.open(address, model=tiny_embedder) as memory:
            memory.thread("b").add("user", "one gpu")
            gone = memory.thread("a").forget(turn=3)
            assert not gone.scrubbed  # only the owner may write tables anew
            assert memory.threads() == ["a", "b"]
            assert not memory.erased
            (problem,) = memory.verify().problems
            assert "may still be recoverable" in problem
        # As the owner may, which is what an operator does.
        with Memory.open(f"{cluster.url(database, OWNER)}#ours", model=tiny_embedder) as memory:
            assert memory.verify().problems == ()
            assert memory.erased
    finally:
        with cluster.connected(database) as connection:
            connection.execute("DROP OWNED BY guest")
            connection.execute("DROP ROLE guest")
