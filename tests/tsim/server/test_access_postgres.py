"""Keys and the audit log in a database: the promises of the file, for several servers."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import psycopg
import pytest

from tests.support.postgres import OWNER, Cluster
from tsim.errors import InputError, KeyMissingError, StoreUnreachableError
from tsim.server.access import Principal, Scope
from tsim.server.access.gate import Access

ANYBODY = Principal()


@pytest.fixture(scope="module")
def database(cluster: Cluster) -> str:
    return cluster.create()


@pytest.fixture(scope="module")
def url(cluster: Cluster, database: str) -> str:
    return cluster.url(database, OWNER)


@pytest.fixture
def both(url: str) -> Iterator[list[Access]]:
    """Two servers."""
    with ExitStack() as stack:
        yield [stack.enter_context(Access(url)) for _ in range(2)]


def test_whoever_comes_first_makes_the_tables_and_the_secret(cluster: Cluster) -> None:
    url = cluster.url(cluster.create(), OWNER)
    with ThreadPoolExecutor(4) as crowd, ExitStack() as stack:
        found = [*crowd.map(lambda _: Access(url), range(4))]
        for one in found:
            stack.callback(one.close)
        assert not found[0].locked()
        (secret,) = {one.secret for one in found}
        assert secret is not None
        assert len(secret) == 32


def test_a_key_of_one_server_is_known_to_the_other_and_ends_in_both(both: list[Access]) -> None:
    one, other = both
    key, token = one.create(namespace="alice", scopes=[Scope.READ], label="Zoë", expires=4e9)
    assert other.locked()
    assert other.usable()
    assert one.admit(token) == other.admit(token) == key.principal
    known = {found.id: found for found in other.keys()}  # noqa: SIM118
    assert known[key.id] == key
    with pytest.raises(KeyMissingError):
        other.admit(f"{token[:-1]}{'a' if token[-1] != 'a' else 'b'}")
    gone = other.revoke(key.id)
    for each in both:
        with pytest.raises(KeyMissingError):
            each.admit(token)
        assert each.revoke(token) == gone
    with pytest.raises(InputError, match="there is no key"):
        one.revoke("0" * 12)


def test_lines_of_all_servers_are_one_chain(both: list[Access]) -> None:
    first, _ = both[0].audit_head()

    def note(n: int) -> None:
        both[n % 2].note(ANYBODY, "forget", "alice", thread=f"t{n}", turns=[n])

    with ThreadPoolExecutor(8) as crowd:
        [*crowd.map(note, range(24))]
    assert both[0].audit_problems() == []
    last, hashed = both[1].audit_head()
    assert last == first + 24
    lines = both[0].audit(after=first, limit=100)
    assert {line.about["thread"] for line in lines} == {f"t{n}" for n in range(24)}
    assert lines[-1].hash == hashed


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE tsim_access.audit SET action = 'nothing'",
        "DELETE FROM tsim_access.audit",
        "TRUNCATE tsim_access.audit",
        "INSERT INTO tsim_access.audit SELECT number + 2, 0, '', '', '', '{}', '' "
        "FROM tsim_access.audit ORDER BY number DESC LIMIT 1",
        "UPDATE tsim_access.key SET revoked = NULL",
        "DELETE FROM tsim_access.key",
        "TRUNCATE tsim_access.key",
    ],
    ids=["change", "delete", "empty", "skip", "revive", "delete a key", "empty keys"],
)
def test_the_log_only_grows_and_keys_stay(
    cluster: Cluster, database: str, both: list[Access], statement: str
) -> None:
    key, _ = both[0].create(namespace=None, scopes=[Scope.READ])
    both[0].revoke(key.id)
    with (
        cluster.connected(database, OWNER) as connection,
        pytest.raises(psycopg.errors.RaiseException),
    ):
        connection.execute(statement.encode())
    assert both[1].audit_problems() == []


def test_changes_and_missing_guards_show(cluster: Cluster) -> None:
    database = cluster.create()
    with Access(cluster.url(database, OWNER)) as access:
        access.create(namespace="alice", scopes=[Scope.READ])
        access.note(ANYBODY, "export", "alice")
        assert access.audit_problems() == []
        with cluster.connected(database, OWNER) as connection:
            connection.execute("ALTER TABLE tsim_access.audit DISABLE TRIGGER audit_change")
            connection.execute("UPDATE tsim_access.audit SET namespace = 'bob' WHERE number = 2")
            connection.execute("DROP TRIGGER key_delete ON tsim_access.key")
            connection.execute(
                "CREATE OR REPLACE FUNCTION tsim_access.follow() RETURNS trigger "
                "LANGUAGE plpgsql AS $$BEGIN RETURN NEW; END$$"
            )
        assert access.audit_problems() == [
            "line 2 of the audit log, or the hash before it, was changed",
            "the database has no longer: CREATE TRIGGER audit_change BEFORE DELETE OR UPDATE OR "
            "TRUNCATE ON tsim_access.audit",
            "the database has no longer: CREATE TRIGGER key_delete BEFORE DELETE OR TRUNCATE ON "
            "tsim_access.key",
            "the database has no longer: FUNCTION tsim_access.follow",
        ]


def test_a_database_that_is_away_is_said_to_be(cluster: Cluster) -> None:
    with pytest.raises(StoreUnreachableError, match="cannot be reached"):
        Access(cluster.url("nowhere", OWNER))
