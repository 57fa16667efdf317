"""Addresses, servers, schemas and rights that cannot be used are named, and passwords never are."""

import threading
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from tests.support.postgres import OWNER
from tests.support.streams import EAGER, stream
from tsim import (
    InputError,
    Memory,
    StoreBusyError,
    StoreError,
    StoreReadOnlyError,
    StoreUnreachableError,
)
from tsim.store import exists, open_store, shown
from tsim.store.postgres import PostgresDatabase, PostgresStore
from tsim.store.postgres.address import Address
from tsim.store.postgres.migrate import known, migrate

PASSWORD = "hunter2-zanzibar"


@pytest.mark.parametrize(
    ("url", "place", "namespace"),
    [
        ("postgresql://u:pw@h:5433/d#team", "postgresql://u@h:5433/d", "team"),
        ("postgres://h/d", "postgresql://h/d", "default"),
        ("postgresql://h/d?password=pw&sslmode=require#a.b-c_D", "postgresql://h/d", "a.b-c_D"),
        ("postgresql://u@/d?host=/run/pg#x", "postgresql://u@/d?host=/run/pg", "x"),
        ("postgresql://u:p%40%23w@a,b/d", "postgresql://u@a,b/d", "default"),
    ],
    ids=["full", "short", "query", "socket", "hosts"],
)
def test_addresses_are_read_and_shown_without_passwords(url, place, namespace):
    address = Address.parse(url)
    assert (address.place, address.namespace) == (place, namespace)
    assert shown(url) == f"{place}#{namespace}"


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://u:{PASSWORD}@[h/d",
        f"postgresql://u:{PASSWORD}@h/d?nonsense=1",
        f"postgresql://u:{PASSWORD}@h/d#a b",
        f"postgresql://u:{PASSWORD}@h/d#%2A",
    ],
    ids=["bracket", "option", "namespace", "star"],
)
def test_an_address_that_cannot_be_read_is_refused_and_not_shown(url):
    with pytest.raises(InputError) as caught:
        Memory.open(url)
    assert PASSWORD not in str(caught.value)


def test_an_address_that_became_a_path_is_refused(tiny_embedder):
    with pytest.raises(InputError, match="a Path cannot hold an address"):
        Memory.open(Path("postgresql://u@h/d"), model=tiny_embedder)


def test_a_server_that_is_down_is_named_with_what_to_do(tmp_path):
    for url, words in (
        (f"postgresql://u:{PASSWORD}@127.0.0.1:9/d", "check that the server runs"),
        (f"postgresql://u:{PASSWORD}@/d?host={tmp_path}", "check that the server runs"),
        (f"postgresql://u:{PASSWORD}@nowhere.invalid/d", "check that the server runs"),
    ):
        with pytest.raises(StoreUnreachableError, match=words) as caught:
            PostgresDatabase(url)
        assert PASSWORD not in str(caught.value)
        assert "nothing was changed" in str(caught.value)


def test_nobody_waits_for_ever_for_a_server_that_does_not_answer(tmp_path):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(StoreUnreachableError, match="timeout"):
            PostgresDatabase(f"postgresql://u@127.0.0.1:{port}/d?connect_timeout=2")


def test_users_and_databases_that_do_not_exist_are_named(cluster):
    with pytest.raises(StoreUnreachableError, match=r'"nothing" does not exist\); create it'):
        PostgresDatabase(cluster.url("nothing"))
    with pytest.raises(StoreUnreachableError, match=r'"nobody" does not exist\); create it'):
        PostgresDatabase(cluster.url(user="nobody"))


def test_a_wrong_password_is_not_shown(cluster):
    """The cluster trusts everybody, so its file of rules is changed for one user."""
    rules = cluster.data / "pg_hba.conf"
    before = rules.read_text()
    try:
        with cluster.connected() as connection:
            connection.execute("CREATE ROLE locked LOGIN PASSWORD 'right'")
            rules.write_text(f"local all locked scram-sha-256\n{before}")
            connection.execute("SELECT pg_reload_conf()")
            connection.execute("SELECT pg_sleep(0.3)")
        url = cluster.url(user=f"locked:{PASSWORD}")
        with pytest.raises(StoreUnreachableError, match="check the password") as caught:
            PostgresDatabase(url)
        assert PASSWORD not in str(caught.value)
        with pytest.raises(StoreUnreachableError, match="give the password"):
            PostgresDatabase(cluster.url(user="locked"))
    finally:
        rules.write_text(before)
        with cluster.connected() as connection:
            connection.execute("SELECT pg_reload_conf()")
            connection.execute("DROP ROLE locked")


def test_a_database_without_pgvector_says_who_can_add_it(cluster):
    name = cluster.create()
    with cluster.connected(name) as connection:
        connection.execute("DROP EXTENSION vector")
    with pytest.raises(StoreError, match="CREATE EXTENSION vector"):
        PostgresDatabase(cluster.url(name, OWNER))
    with PostgresDatabase(cluster.url(name)) as database:  # an administrator can
        assert database.namespaces() == []


def test_the_extension_may_be_in_any_schema(cluster, tiny_embedder):
    name = cluster.create()
    with cluster.connected(name) as connection:
        connection.execute("DROP EXTENSION vector")
        connection.execute('CREATE SCHEMA "odd name"')
        connection.execute('CREATE EXTENSION vector SCHEMA "odd name"')
        connection.execute(f'GRANT USAGE ON SCHEMA "odd name" TO {OWNER}')
    with Memory.open(cluster.url(name, OWNER, "a"), model=tiny_embedder) as memory:
        memory.thread("a").add_many(stream(10))
        assert memory.thread("a").nearest("budget")
        assert memory.verify().problems == ()


def test_missing_rights_are_named(cluster):
    name = cluster.create()
    with cluster.connected(name) as connection:
        connection.execute("CREATE ROLE visitor LOGIN")
    try:
        with pytest.raises(StoreReadOnlyError, match="lacks rights"):
            PostgresDatabase(cluster.url(name, "visitor"))
        PostgresDatabase(cluster.url(name, OWNER)).close()
        with pytest.raises(StoreReadOnlyError, match="lacks rights"):
            PostgresDatabase(cluster.url(name, "visitor"))
    finally:
        with cluster.connected(name) as connection:
            connection.execute("DROP ROLE visitor")


def test_a_schema_of_another_version_is_refused(cluster):
    name = cluster.create()
    PostgresDatabase(cluster.url(name, OWNER)).close()
    with cluster.connected(name) as connection:
        connection.execute("UPDATE tsim.migration SET sha256 = 'other'")
        with pytest.raises(StoreError, match="the versions have diverged"):
            PostgresDatabase(cluster.url(name, OWNER))
        connection.execute("INSERT INTO tsim.migration VALUES (99, '0099.sql', '')")
        for step in known():
            connection.execute(
                "UPDATE tsim.migration SET sha256 = %s WHERE number = %s",
                (step.sha256, step.number),
            )
        with pytest.raises(StoreError, match="newer version"):
            PostgresDatabase(cluster.url(name, OWNER))


def test_a_step_that_fails_leaves_nothing_behind(cluster):
    name = cluster.create()
    from tsim.store.migrations import Migration

    broken = [*known(), Migration(2, "0002.sql", "CREATE TABLE tsim.more (x int); SELECT 1/0")]
    with psycopg.connect(cluster.url(name, OWNER), autocommit=True) as connection:
        with pytest.raises(psycopg.errors.DivisionByZero):
            migrate("here", connection, broken)
        assert connection.execute("SELECT to_regnamespace('tsim')").fetchall() == [(None,)]


def test_many_who_open_an_empty_database_at_once_make_one_schema(cluster):
    name = cluster.create()
    failed = []

    def opening():
        try:
            PostgresDatabase(cluster.url(name, OWNER)).close()
        except StoreError as error:
            failed.append(error)

    crowd = [threading.Thread(target=opening) for _ in range(6)]
    for one in crowd:
        one.start()
    for one in crowd:
        one.join()
    assert failed == []


def test_steps_are_numbered_without_gaps():
    assert [step.number for step in known()] == list(range(1, len(known()) + 1))


def test_reading_creates_nothing(cluster, tiny_embedder):
    name = cluster.create()
    address = cluster.url(name, OWNER, "a")
    assert not exists(address)
    with pytest.raises(StoreError, match="has no memories yet"):
        open_store(address, read_only=True)
    with cluster.connected(name) as connection:
        assert connection.execute("SELECT to_regnamespace('tsim')").fetchall() == [(None,)]
    with Memory.open(address, model=tiny_embedder) as memory:
        memory.thread("a").add_many(stream(5))
    assert exists(address)
    assert not exists(cluster.url(name, OWNER, "b"))
    with Memory.open(address, model=tiny_embedder, read_only=True) as memory:
        assert memory.thread("a").search("budget")
        with pytest.raises(StoreReadOnlyError, match="opened read-only"):
            memory.thread("a").add("user", "x")
        with pytest.raises(StoreReadOnlyError):
            memory.forget_thread("a")
        assert len(memory.thread("a")) == 5


def test_a_standby_says_so(cluster, tiny_embedder):
    name = cluster.create()
    PostgresDatabase(cluster.url(name, OWNER)).close()
    with cluster.connected(name) as connection:
        connection.execute("CREATE ROLE reader LOGIN")
        connection.execute("GRANT USAGE ON SCHEMA tsim TO reader")
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA tsim TO reader")
    try:
        with pytest.raises(StoreReadOnlyError, match="read_only=True"):
            Memory.open(cluster.url(name, "reader", "a"), model=tiny_embedder)
        with Memory.open(
            cluster.url(name, "reader", "a"), model=tiny_embedder, read_only=True
        ) as memory:
            assert memory.threads() == []
    finally:
        with cluster.connected(name) as connection:
            connection.execute("DROP OWNED BY reader")
            connection.execute("DROP ROLE reader")


@pytest.mark.parametrize("level", ["off", "local", "remote_write", "remote_apply"])
def test_commits_are_on_the_disk_whatever_is_set_for_the_database(cluster, level):
    name = cluster.create()
    with cluster.connected() as connection:
        connection.execute(f"ALTER DATABASE {name} SET synchronous_commit = {level}")
        connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        connection.execute(
            f"ALTER DATABASE {name} SET default_transaction_isolation = serializable"
        )
    with pytest.raises(StoreReadOnlyError):
        PostgresDatabase(cluster.url(name, OWNER))  # which would change the schema
    with cluster.connected() as connection:
        connection.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")
    with PostgresDatabase(cluster.url(name, OWNER)) as database:
        seen = []

        def look(transaction):
            query = "SELECT current_setting(%s), current_setting(%s)"
            names = ("synchronous_commit", "transaction_isolation")
            seen.extend(transaction.run((query, names))[0])
            return None, None

        database._transactions.write("a", "here", look)
        safe = "remote_apply" if level == "remote_apply" else "on"
        assert seen == [(safe, "read committed")]


def test_a_server_that_may_lose_turns_is_a_problem(cluster, postgres):
    def change(statement):
        with cluster.connected() as connection:
            connection.execute(statement)
            connection.execute("SELECT pg_reload_conf()")
            connection.execute("SELECT pg_sleep(0.2)")

    with closing(PostgresStore.open(postgres)) as store:
        assert store.check() == []
        change("ALTER SYSTEM SET full_page_writes = off")
        try:
            (problem,) = store.check()
            assert "full_page_writes = off" in problem
        finally:
            change("ALTER SYSTEM RESET full_page_writes")
        assert store.check() == []


def test_more_users_than_connections_wait_and_then_are_told(postgres):
    with (
        PostgresDatabase(postgres, pool_size=1, busy_seconds=0.2) as database,
        database.store("a").snapshot() as reader,
    ):
        assert reader.threads() == []
        with pytest.raises(StoreBusyError, match="all 1 connections"):
            database.store("b").threads()
    with pytest.raises(InputError, match="pool_size=0"):
        PostgresDatabase(postgres, pool_size=0)


def test_whoever_waits_too_long_for_another_writer_is_told(postgres, tiny_embedder):
    with (
        PostgresDatabase(postgres, busy_seconds=0.2) as database,
        psycopg.connect(postgres.partition("#")[0]) as other,
    ):
        store = database.store("a")
        memory = Memory.open(store=store, model=tiny_embedder)
        memory.thread("t").add("user", "one gpu")
        other.execute("SELECT pg_advisory_xact_lock(hashtextextended('tsim/a', 0))")
        with pytest.raises(StoreBusyError, match="nothing was changed"):
            memory.thread("t").add("user", "two gpus")
        assert len(memory.thread("t")) == 1
        other.rollback()
        assert memory.thread("t").add("user", "two gpus").turn == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("UPDATE tsim.turn SET text = text || '!' WHERE id = 3", "'t': turn 3 has changed"),
        ("UPDATE tsim.turn SET vector = vector * vector WHERE id = 4", "the vector of turn 4"),
        ("UPDATE tsim.thread SET next_turn = 90", "its name or its counters"),
        ("UPDATE tsim.span SET vector = vector || '!'", "the span from turn 2 to 3"),
        ("UPDATE tsim.turn SET thread = thread + 1000 WHERE id = 7", "which does not exist"),
        ("UPDATE tsim.turn SET meta = '[' WHERE id = 2", "turn 2 has changed"),
    ],
    ids=["text", "vector", "thread", "span", "owner", "meta"],
)
def test_changed_bytes_are_found(cluster, shared_database, postgres, tiny_embedder, change, words):
    with Memory.open(postgres, model=tiny_embedder, preset=EAGER) as memory:
        memory.thread("t").add_many(stream(30))
        assert memory.verify().problems == ()
        namespace = postgres.partition("#")[2]
        with cluster.connected(shared_database) as connection:
            joined = "AND" if "WHERE" in change else "WHERE"
            connection.execute(f"{change} {joined} namespace = '{namespace}'".encode())
        problems = memory.verify().problems
        assert words in problems[0]
        memory._store.remove("t")


def test_a_damaged_row_is_an_error_of_ours(cluster, shared_database, postgres, tiny_embedder):
    with Memory.open(postgres, model=tiny_embedder, preset=EAGER) as memory:
        memory.thread("t").add("user", "one gpu", meta={"a": 1})
        with cluster.connected(shared_database) as connection:
            for change in ("meta = '['", "meta = NULL, at = 1e300", "at = NULL, vector = '[1,2]'"):
                connection.execute(
                    f"UPDATE tsim.turn SET {change} WHERE namespace = %s".encode(),
                    (postgres.partition("#")[2],),
                )
                memory.thread("t").unload()
                with pytest.raises(StoreError, match="is damaged"):
                    memory.thread("t").search("gpu")
