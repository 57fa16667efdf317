"""`StoredThread`: the turns of a thread as they are stored. No model is needed to read them."""

from collections.abc import Iterable, Iterator

from tsim.arguments import positive, whole
from tsim.checking import check_id
from tsim.errors import StoreError
from tsim.state import MAX_ID
from tsim.store import Reader, Store, require_thread
from tsim.types import Turn

# Turns that an iteration reads at once.
PAGE = 500


class StoredThread:
    """A thread that is listed, counted and paged through."""

    def __init__(self, name: str, store: Store) -> None:
        """Reads nothing yet; the thread need not exist."""
        self.name = name
        self._store = store

    def require(self) -> None:
        """Raises `ThreadMissingError` if the thread does not exist."""
        self._require(self._store)

    def turns(self, *, after: int | None = None, limit: int | None = None) -> list[Turn]:
        """Returns turns in order, all of them by default.

        Args:
            after: Only turns with higher ids than this one, which may have been forgotten.
            limit: Maximum number of turns.

        Raises:
            InputError: A value is out of range.
            ThreadMissingError: The thread does not exist.
        """
        positive(limit=limit)
        first = 0 if after is None else max(0, whole("after", after) + 1)
        with self._store.snapshot() as reader:
            self._require(reader)
            if first > MAX_ID:
                return []
            return [turn for _, turn in reader.all_turns(self.name, first, limit)]

    def recent(self, limit: int = 20) -> list[Turn]:
        """Returns the last turns in order.

        Args:
            limit: Maximum number of turns.

        Raises:
            InputError: The limit is out of range.
            ThreadMissingError: The thread does not exist.
        """
        positive(limit=limit)
        with self._store.snapshot() as reader:
            self._require(reader)
            return reader.last_turns(self.name, min(limit, MAX_ID + 1))

    def called(self, id: str) -> Turn | None:
        """Returns the turn with an external id; None if there is none.

        Raises:
            InputError: It cannot be an external id.
            ThreadMissingError: The thread does not exist.
        """
        name = check_id(id)
        with self._store.snapshot() as reader:
            self._require(reader)
            return reader.turns_called(self.name, [name]).get(name)

    def known(self, ids: Iterable[str]) -> dict[str, Turn]:
        """Returns the turns with these external ids, by id; unknown ids are left out.

        Args:
            ids: External ids, as turns were added with.
        """
        wanted = sorted({*ids})
        return self._store.turns_called(self.name, wanted) if wanted else {}

    def __iter__(self) -> Iterator[Turn]:
        """Yields all turns in order; turns added or forgotten meanwhile may be seen or not.

        They are read page by page, so that neither RAM nor a snapshot is held.
        """
        page = self.turns(limit=PAGE)
        while page:
            yield from page
            page = self.turns(after=page[-1].id, limit=PAGE)

    def __len__(self) -> int:
        """Returns the number of turns; 0 if the thread does not exist."""
        return self._store.count(self.name)

    def __repr__(self) -> str:
        """Returns the name, the location and the number of turns."""
        try:
            size = f"{len(self)} turns"
        except StoreError as error:
            size = type(error).__name__
        return f"<Thread {self.name!r} in {self._store.location}: {size}>"

    def _require(self, reader: Reader) -> None:
        """Raises an error if the reader's state does not have the thread."""
        require_thread(self._store.location, reader, self.name)
