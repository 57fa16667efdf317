"""What a server is started with."""

import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path

from tsim.errors import InputError
from tsim.ports import is_loopback
from tsim.residency import RESIDENT_TURNS
from tsim.server.names import FILE, check_namespace

DEFAULT_NAMESPACE = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds, so that no client can harm the others.

    Attributes:
        body: Bytes of a request.
        bodies: Bytes of all requests at a time.
        upload: Bytes of an import.
        batch: Turns of a request.
        page: Turns or episodes of an answer.
        budget: Tokens of a context.
        resident: Turns of threads that stay in RAM.
        workers: Requests that are worked on at a time.
        waiting: Requests that wait for a worker; more are refused.
        rate: Requests per second for each key, or for each address without keys.
        burst: Requests that may come at once before the rate applies.
        connections: Open connections.
        header_seconds: Seconds for the headers of a request to arrive.
        body_seconds: Seconds for each further piece of a request to arrive.
        send_seconds: Seconds for each piece of an answer to be taken.
        drain_seconds: Seconds that requests have to finish when the server stops.
    """

    body: int = 8 << 20
    bodies: int = 256 << 20
    upload: int = 4 << 30
    batch: int = 1_000
    page: int = 1_000
    budget: int = 100_000
    resident: int = RESIDENT_TURNS
    workers: int = 8
    waiting: int = 256
    rate: float = 1_000.0
    burst: int = 2_000
    connections: int = 1_024
    header_seconds: float = 10.0
    body_seconds: float = 10.0
    send_seconds: float = 30.0
    drain_seconds: float = 30.0

    def among(self, processes: int) -> "Limits":
        """Returns the bounds of one of several processes, which hold for all of them together.

        Rates are not divided: they are counted together.
        """
        shares = {
            name: -(-getattr(self, name) // processes)
            for name in ("bodies", "resident", "workers", "waiting", "connections")
        }
        return replace(self, **shares)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where the memories are and who may use them.

    Attributes:
        place: A directory with one memory file for each namespace, or a memory file, which is then
            the only namespace. Not used if there is a database.
        store: The address of a database with the memories of all namespaces; may have a password.
        host: The address to listen on.
        port: The port to listen on; 0 for a free one.
        hosts: Names by which clients may address the server, beside the loopback's.
        model: The embedding model, as for `Memory.open`.
        preset: The preset of new memories.
        tokens: What counts the tokens of budgets.
        keys: Whether every request needs a key.
        limits: Bounds.
    """

    place: Path
    store: str | None = field(default=None, repr=False)
    host: str = "127.0.0.1"
    port: int = 8765
    hosts: tuple[str, ...] = ()
    model: str | None = None
    preset: str | None = None
    tokens: str = "estimate"
    keys: bool = True
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if self.only is not None:
            check_namespace(self.only)
        if not self.keys and not is_loopback(self.host):
            raise InputError(
                f"without keys the server listens only to this machine, found --host {self.host}; "
                "make a key (tsim keys create), or use --host 127.0.0.1"
            )

    def among(self, processes: int) -> "Settings":
        """Returns what one of several processes is started with."""
        return replace(self, limits=self.limits.among(processes))

    @property
    def directory(self) -> Path:
        """The directory of the memories, or the one for what is on its way into a database."""
        if self.store is not None:
            return Path(tempfile.gettempdir())
        return self.place.parent if self.only is not None else self.place

    @property
    def only(self) -> str | None:
        """The only namespace, if a memory file is served."""
        if self.store is not None or self.place.is_dir() or self.place.suffix != FILE:
            return None
        return self.place.stem

    @property
    def default(self) -> str:
        """The namespace of requests that name none."""
        return self.only or DEFAULT_NAMESPACE

    @property
    def access(self) -> Path | str:
        """The file of keys and of the audit log, or the address of the database that has them."""
        return self.store if self.store is not None else self.directory / "access.sqlite"
