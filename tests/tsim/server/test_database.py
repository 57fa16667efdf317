"""Servers that share a database: on several machines, or several processes on one."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from tests.support.hashes import Hashes
from tests.support.mcp_calls import called
from tests.support.postgres import OWNER, Cluster
from tests.support.served import served
from tests.support.server_process import PROCESS, Serving, serving
from tsim.errors import InputError
from tsim.server.access import Scope
from tsim.server.access.gate import Access
from tsim.server.app import create_app
from tsim.server.settings import Settings
from tsim.server.shelves import Rows
from tsim.store.postgres import PostgresDatabase

PATIENCE = 60
RULE = "New projects run on one consumer GPU."


@pytest.fixture(scope="module")
def database(cluster: Cluster) -> str:
    return cluster.create()


@pytest.fixture(scope="module")
def store(cluster: Cluster, database: str) -> str:
    return cluster.url(database, OWNER)


@pytest.fixture
def client(tmp_path: Path, store: str) -> Iterator[httpx.Client]:
    """A client of a server without keys."""
    with served(tmp_path, store=store) as url, httpx.Client(base_url=url, timeout=30) as client:
        yield client
    assert [*tmp_path.iterdir()] == []


def add(client: httpx.Client, thread: str, *texts: str) -> None:
    turns = [{"role": "user", "text": text} for text in texts]
    client.post(f"/v1/threads/{thread}/turns", json={"turns": turns}).raise_for_status()


def test_a_server_keeps_everything_in_the_database(client: httpx.Client, store: str) -> None:
    assert client.get("/v1/threads").json()["threads"] == []
    assert client.get("/v1/threads/none").status_code == 404
    assert client.get("/v1/memory").json()["namespace"] == "default"
    with PostgresDatabase(store) as found:
        assert not found.has("default")
    add(client, "a", RULE)
    found = client.post("/v1/threads/a/context", json={"query": "consumer GPU"})
    assert RULE in found.json()["context"]
    lines = client.get("/v1/export").text
    there = "/v1/namespaces/copied"
    assert client.post(f"{there}/import", content=lines).json() == {"turns": 1}
    assert client.get(f"{there}/threads/a").json() == {"name": "a", "turns": 1}
    gone = client.post("/v1/threads/a/forget", json={"turns": [0]})
    assert gone.json()["turns"] == [0]
    assert client.get(f"{there}/threads/a").json()["turns"] == 1
    page = client.get("/inspector")
    assert "copied" in page.text
    with PostgresDatabase(store) as database:
        assert {"copied", "default"} <= {*database.namespaces()}


def test_a_backup_is_refused_with_what_to_do_instead(client: httpx.Client) -> None:
    refused = client.get("/v1/backup")
    assert refused.status_code == 400
    assert refused.headers["content-type"] == "application/problem+json"
    assert "GET /v1/export" in refused.json()["detail"]


def test_a_database_that_is_away_is_waited_for(
    client: httpx.Client, cluster: Cluster, database: str
) -> None:
    add(client, "away", RULE)
    with cluster.connected() as connection:
        connection.execute(f"ALTER DATABASE {database} ALLOW_CONNECTIONS false")
        try:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
                (database,),
            )
            for path in ("/v1/threads/away", "/health/ready"):
                refused = client.get(path)
                assert refused.status_code == 503, refused.text
                assert refused.headers["retry-after"] == "1"
                assert refused.json()["kind"] == "store_unreachable"
                assert str(cluster.socket) not in refused.text
            assert client.get("/health/live").status_code == 200
        finally:
            connection.execute(f"ALTER DATABASE {database} ALLOW_CONNECTIONS true")
    assert client.get("/health/ready").status_code == 200
    assert client.get("/v1/threads/away").json()["turns"] == 1


def test_a_user_whom_policies_do_not_bind_is_refused(cluster: Cluster, tmp_path: Path) -> None:
    database = cluster.create()
    settings = Settings(place=tmp_path, store=cluster.url(database), keys=False)
    with pytest.raises(InputError, match="NOBYPASSRLS") as refused:
        create_app(settings, embedder=Hashes())
    assert "GRANT CREATE ON DATABASE" in str(refused.value)
    with cluster.connected(database) as connection:  # what it would own, nobody else could use
        query = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'tsim%'"
        assert connection.execute(query).fetchall() == [(0,)]
    with pytest.raises(InputError, match="NOBYPASSRLS"):
        Rows(cluster.url(database), connections=1)


@pytest.fixture(scope="module")
def token(store: str) -> dict[str, str]:
    """A key of all servers."""
    with Access(store) as access:
        _, found = access.create(namespace="team", scopes=[*Scope])
    return {"Authorization": f"Bearer {found}"}


@pytest.fixture(scope="module")
def four(
    tmp_path_factory: pytest.TempPathFactory, store: str, token: dict[str, str]
) -> Iterator[list[Serving]]:
    """Two servers of two processes each, which have nothing in common but the database."""
    place = tmp_path_factory.mktemp("servers")
    with (
        serving(place, processes=2, keys=True, store=store) as one,
        serving(place, processes=2, keys=True, store=store) as other,
    ):
        yield [one, other]


def test_servers_on_several_machines_are_one(
    four: list[Serving], store: str, token: dict[str, str]
) -> None:
    with four[0].clients(2, headers=token) as here, four[1].clients(2, headers=token) as there:
        every = [*here, *there]
        assert len({one.get("/health/live").headers[PROCESS] for one in every}) == 4
        for n, writer in enumerate(every):
            add(writer, "team", f"The code of door {n} is {n * 1111}.")
            for reader in every:
                found = reader.post("/v1/threads/team/search", json={"query": f"code of door {n}"})
                assert f"is {n * 1111}." in found.text
        preview = called(here[0], "forget", turns=[0], thread="team")
        confirmed = {"turns": [0], "thread": "team", "confirm": preview["confirm"]}
        assert called(there[0], "forget", **confirmed)["forgotten"]
        assert [one.get("/v1/threads/team").json()["turns"] for one in every] == [3] * 4
        with Access(store) as access:
            assert access.audit_problems() == []
            key, found = access.create(namespace="team", scopes=[Scope.READ])
            once = {"Authorization": f"Bearer {found}"}
            assert {one.get("/v1/threads", headers=once).status_code for one in every} == {200}
            access.revoke(key.id)
            assert {one.get("/v1/threads", headers=once).status_code for one in every} == {401}


def test_eight_writers_on_one_thread_lose_and_double_nothing(
    four: list[Serving], token: dict[str, str], store: str
) -> None:
    acknowledged: list[list[str]] = [[] for _ in range(8)]
    begun, done = threading.Event(), threading.Event()

    def write(writer: int) -> None:
        n = 0
        while not done.is_set():
            with four[writer % 2].client(headers=token) as client, suppress(httpx.TransportError):
                while not done.is_set():
                    n += 1
                    key = f"{writer}-{n}"
                    turn = {"role": "user", "text": f"{writer} says {n}", "id": key}
                    sent = client.post("/v1/threads/crowd/turns", json={"turns": [turn]})
                    sent.raise_for_status()
                    acknowledged[writer].append(key)
                    begun.set()

    with ThreadPoolExecutor(8) as crowd:
        written = [crowd.submit(write, n) for n in range(8)]
        try:
            assert begun.wait(PATIENCE)
            with four[0].client() as client:
                os.kill(int(client.get("/health/live").headers[PROCESS]), signal.SIGKILL)
            until = time.monotonic() + PATIENCE
            while min(map(len, acknowledged)) < 4 and time.monotonic() < until:
                time.sleep(0.02)
        finally:
            done.set()
        for one in written:
            one.result()
    assert min(map(len, acknowledged)) >= 4  # nobody starves
    with four[1].client(headers=token) as client:
        kept = client.get("/v1/threads/crowd/turns?limit=1000").json()["turns"]
    ids = [turn["external_id"] for turn in kept]
    assert len(ids) == len({*ids})
    assert {key for keys in acknowledged for key in keys} <= {*ids}
    assert [turn["id"] for turn in kept] == [*range(len(kept))]
