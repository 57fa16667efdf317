"""`Client` and `RemoteThread`: a memory on a server, for code that waits."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self, Unpack

from tsim.arguments import path as checked_path
from tsim.arguments import place, positive
from tsim.assemble import CONTEXT_BUDGET
from tsim.checking import check_name
from tsim.client import calls
from tsim.client.connection import Connection
from tsim.client.named import NamedThread, write_across
from tsim.client.server import PATIENCE, find_server
from tsim.client.streams import BackupReceiver, ExportReceiver
from tsim.errors import ThreadMissingError
from tsim.filter import Narrowing
from tsim.http import Patience
from tsim.incoming import Progress, TurnLike
from tsim.times import Time, seconds
from tsim.types import (
    Episodes,
    ForgetPreview,
    Forgotten,
    Hit,
    Hits,
    Meta,
    NearTurn,
    NewTurn,
    Receipt,
    Receipts,
    Turn,
)
from tsim.unfinished import require_free


class Client:
    """A memory on a server. Its methods are those of `Memory`; it is safe to use from threads."""

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        namespace: str | None = None,
        batch: int = calls.BATCH,
        patience: Patience = PATIENCE,
    ) -> None:
        """Prepares connections; the server is asked when something is used.

        Args:
            url: The address of the server, such as http://127.0.0.1:8765.
            key: The key, if the server wants one.
            namespace: The namespace, if the key is not for a single one.
            batch: Maximum number of turns of a request.
            patience: Timeouts and retries.

        Raises:
            InputError: One of them cannot be one.
        """
        positive(batch=batch)
        server = find_server(url, key=key, namespace=namespace, patience=patience)
        self._connection = Connection(server)
        self._batch = batch

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._connection.close()

    def __repr__(self) -> str:
        """Returns the address."""
        return f"<Client {self._connection.server.shown}>"

    def thread(self, name: str) -> "RemoteThread":
        """Returns the thread with the given name; adding its first turn creates it."""
        return RemoteThread(check_name(name), self._connection, self._batch)

    def threads(self) -> list[str]:
        """Returns the names of all threads, sorted."""
        return [*self._connection.walk(calls.threads())]

    def search(
        self,
        query: str,
        *,
        threads: Iterable[str],
        k: int | None = None,
        budget: int | None = None,
        min_relevance: float | None = None,
        **only: Unpack[Narrowing],
    ) -> Hits:
        """Finds what is relevant to a query in several threads, as `Memory.search` does."""
        return self._connection.do(
            calls.search_across(
                query, threads, k=k, budget=budget, min_relevance=min_relevance, **only
            )
        )

    def context(
        self,
        query: str,
        *,
        threads: Iterable[str],
        budget: int = CONTEXT_BUDGET,
        min_relevance: float | None = None,
        **only: Unpack[Narrowing],
    ) -> str:
        """Returns what is relevant to a query in several threads, as `Memory.context` does."""
        return self._connection.do(
            calls.context_across(query, threads, budget=budget, min_relevance=min_relevance, **only)
        )

    def write(self, hits: Sequence[Hit], *, threads: Iterable[str]) -> str:
        """Returns hits in several threads as text for a prompt, the threads in the given order."""
        return write_across(hits, threads)

    def forget_thread(self, name: str) -> bool:
        """Removes a thread and erases its content; returns whether it existed."""
        try:
            self._connection.do(calls.forget_thread(check_name(name)))
        except ThreadMissingError:
            return False
        return True

    def export(self, target: str | Path | BinaryIO, *, threads: Iterable[str] | None = None) -> int:
        """Writes the memory as JSON lines, as `Memory.export` does; returns the number of turns."""
        receiver = ExportReceiver()
        self._connection.download(calls.export(threads), place(target, "write"), receiver)
        return receiver.turns

    def import_(self, source: str | Path | BinaryIO) -> int:
        """Imports an export, as `Memory.import_` does; returns the number of turns."""
        return self._connection.upload(calls.import_(), place(source, "read"))

    def backup(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Writes a copy of the memory file, as `Memory.backup` does."""
        target = checked_path("path", path)
        require_free(target, overwrite=overwrite)
        self._connection.download(calls.backup(), target, BackupReceiver())


class RemoteThread(NamedThread):
    """A thread on a server, as returned by `Client.thread`. Its methods are those of `Thread`."""

    def __init__(self, name: str, connection: Connection, batch: int) -> None:
        """Asks for nothing; the thread need not exist."""
        super().__init__(name, connection.server)
        self._connection = connection
        self._batch = batch

    def require(self) -> None:
        """Raises `ThreadMissingError` if the thread does not exist."""
        self._connection.do(calls.count(self.name))

    def add(
        self,
        role: str,
        text: str,
        at: float | datetime | None = None,
        *,
        id: str | None = None,
        meta: Meta | None = None,
    ) -> Receipt:
        """Adds a turn durably, as `Thread.add` does.

        A turn with an id can be sent again, and is if the connection fails.
        """
        at = None if at is None else seconds(at, "at")
        return self.add_many([NewTurn(role=role, text=text, at=at, id=id, meta=meta)])[0]

    def add_many(self, turns: Iterable[TurnLike], *, progress: Progress | None = None) -> Receipts:
        """Adds turns in the forms that `Thread.add_many` takes, in requests of at most `batch`.

        All turns are checked before the first is sent. If a request fails, those before it are
        kept.
        """
        return self._connection.run(calls.add_many(self.name, turns, progress, self._batch))

    def search(  # noqa: PLR0913  # those of `Thread.search`
        self,
        query: str,
        *,
        k: int | None = None,
        budget: int | None = None,
        min_relevance: float | None = None,
        since: Time | None = None,
        until: Time | None = None,
        roles: Sequence[str] | None = None,
        meta: Meta | None = None,
        now: Time | None = None,
    ) -> Hits:
        """Finds the episodes that are relevant to a query, best first, as `Thread.search` does."""
        return self._connection.do(
            calls.search(
                self.name,
                query,
                k=k,
                budget=budget,
                min_relevance=min_relevance,
                since=since,
                until=until,
                roles=roles,
                meta=meta,
                now=now,
            )
        )

    def context(  # noqa: PLR0913  # those of `Thread.context`
        self,
        query: str,
        *,
        budget: int = CONTEXT_BUDGET,
        min_relevance: float | None = None,
        since: Time | None = None,
        until: Time | None = None,
        roles: Sequence[str] | None = None,
        meta: Meta | None = None,
        now: Time | None = None,
    ) -> str:
        """Returns what is relevant to a query as text for a prompt, as `Thread.context` does."""
        return self._connection.do(
            calls.context(
                self.name,
                query,
                budget=budget,
                min_relevance=min_relevance,
                since=since,
                until=until,
                roles=roles,
                meta=meta,
                now=now,
            )
        )

    def turns(self, *, after: int | None = None, limit: int | None = None) -> list[Turn]:
        """Returns turns in order, all of them by default; they are read page by page."""
        return [*self._connection.walk(calls.turns(self.name, after, limit))]

    def recent(self, limit: int = 20) -> list[Turn]:
        """Returns the last turns in order."""
        return self._connection.do(calls.recent(self.name, limit))

    def nearest(self, query: str, *, k: int = 20) -> list[NearTurn]:
        """Returns the turns nearest to a query by cosine alone, as `Thread.nearest` does."""
        return self._connection.do(calls.nearest(self.name, query, k))

    def called(self, id: str) -> Turn | None:
        """Returns the turn with an external id; None if there is none."""
        return self._connection.do(calls.called(self.name, id))

    def episodes(self, *, threshold: float | None = None) -> Episodes:
        """Returns all episodes in order, as `Thread.episodes` does."""
        return Episodes(self._connection.walk(calls.episodes(self.name, threshold)))

    def forget(
        self,
        *,
        turn: int | None = None,
        turns: Iterable[int] | None = None,
        episode: int | None = None,
        roles: Sequence[str] | None = None,
        since: Time | None = None,
        until: Time | None = None,
        meta: Meta | None = None,
    ) -> Forgotten:
        """Removes turns and erases their texts, as `Thread.forget` does."""
        return self._connection.do(
            calls.forget(
                self.name,
                turn=turn,
                turns=turns,
                episode=episode,
                roles=roles,
                since=since,
                until=until,
                meta=meta,
            )
        )

    def preview_forget(  # noqa: PLR0913  # those of `Thread.preview_forget`
        self,
        query: str | None = None,
        *,
        turns: Iterable[int] | None = None,
        episode: int | None = None,
        roles: Sequence[str] | None = None,
        since: Time | None = None,
        until: Time | None = None,
        meta: Meta | None = None,
        min_relevance: float | None = None,
    ) -> ForgetPreview:
        """Returns what `forget` would remove, or what a question may mean, and removes nothing."""
        return self._connection.do(
            calls.preview_forget(
                self.name,
                query,
                turns=turns,
                episode=episode,
                roles=roles,
                since=since,
                until=until,
                meta=meta,
                min_relevance=min_relevance,
            )
        )

    def __iter__(self) -> Iterator[Turn]:
        """Yields all turns in order, page by page."""
        return self._connection.walk(calls.turns(self.name))

    def __len__(self) -> int:
        """Returns the number of turns; 0 if the thread does not exist."""
        try:
            return self._connection.do(calls.count(self.name))
        except ThreadMissingError:
            return 0
