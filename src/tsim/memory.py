"""The front door: a memory with its threads."""

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from tsim import replay, transfer
from tsim.embed import Embedder, open_embedder
from tsim.embed.protocol import require_text
from tsim.errors import InputError, MismatchError
from tsim.presets import DEFAULT, PRESETS, AnyPreset, find_preset
from tsim.store import Accepted, SqliteStore, Store
from tsim.store.agreement import differing
from tsim.thread import Thread
from tsim.verify import Verification, verify


class Memory:
    """Threads of conversation in one file, or in any other store.

    >>> with Memory.open("memory.db") as memory:  # doctest: +SKIP
    ...     thread = memory.thread("alice")
    ...     thread.add("user", "New projects run on one consumer GPU.")
    ...     print(thread.context("Which model for the new project?"))

    Attributes:
        rebuilt: Whether everything was made anew since the memory was opened.
    """

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        preset: AnyPreset,
        *,
        rebuild: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """Joins a store, an embedder and a preset; `Memory.open` finds them by name.

        Args:
            store: Where the threads are kept; it stays the caller's to close.
            embedder: Makes the vectors.
            preset: The method of remembering.
            rebuild: If the memory was written with another model or preset, embed and index all
                its turns again instead of refusing.
            progress: Called with how many turns of how many a rebuild has done.

        Raises:
            MismatchError: Written with another model or preset, and no rebuild asked for.
            StoreError: The store cannot be used.
        """
        self._store = store
        self._embedder = embedder
        self._preset = preset
        self._closes_store = False
        self._threads: dict[str, Thread] = {}
        self._lock = threading.Lock()
        self.rebuilt = False
        self._agree(rebuild, progress)

    @classmethod
    def open(
        cls,
        path: str | Path | None = None,
        *,
        store: Store | None = None,
        model: str | Embedder | None = None,
        preset: str | AnyPreset | None = None,
        rebuild: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> Self:
        """Opens a memory file, creating it if needed, or the memory in another store.

        Args:
            path: The file; leave it out if you give a store.
            store: A store that you have opened and will close yourself.
            model: An embedder, or what `tsim.embed.open_embedder` takes.
            preset: The method of remembering, or its name. If not given: the one the memory was
                written with, or `LATE` for a new one.
            rebuild: If the memory was written with another model or preset, embed and index all
                its turns again instead of refusing.
            progress: Called with how many turns of how many a rebuild has done.

        Raises:
            InputError: Both or neither of path and store were given, or there is no such preset.
            MismatchError: Written with another model or preset, and no rebuild asked for.
            StoreError: The file or store cannot be used.
        """
        open_store = _opener(path, store)
        embedder = open_embedder(model) if model is None or isinstance(model, str) else model
        if isinstance(preset, str):
            preset = find_preset(preset)
        opened = open_store()
        try:
            written = preset or _written_with(opened)
            memory = cls(opened, embedder, written, rebuild=rebuild, progress=progress)
        except BaseException:
            if store is None:
                opened.close()
            raise
        memory._closes_store = store is None
        return memory

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
        """Closes the file that `Memory.open(path)` opened; a store that was given stays open."""
        if self._closes_store:
            self._store.close()

    def thread(self, name: str) -> Thread:
        """Returns the thread of that name; it comes to be with its first turn."""
        if not require_text(name).strip() or len(name) > 200:
            raise InputError(f"a thread's name is 1 to 200 characters, found {name!r:.80}")
        with self._lock:
            if name not in self._threads:
                self._threads[name] = Thread(
                    name, self._store, self._embedder, self._preset, self._accepted()
                )
            return self._threads[name]

    def threads(self) -> list[str]:
        """Names all threads, sorted."""
        return self._store.threads()

    def forget_thread(self, name: str) -> bool:
        """Removes a thread without a trace; tells whether it was there."""
        there = self._store.remove(name)
        if there:
            self._store.scrub()  # stays due, and is seen by verify, if others use the memory
        return there

    def export(self, path: str | Path) -> int:
        """Writes everything as JSON lines; returns the number of turns."""
        return transfer.export(self._store, Path(path))

    def import_(self, path: str | Path) -> int:
        """Reads an export of a memory with the same model and preset; returns the turns."""
        return transfer.import_(self._store, Path(path), settings=self._accepted())

    def verify(self) -> Verification:
        """Checks the store and everything derived from the turns."""
        return verify(
            self._store, self._embedder.dimension, summarises=self._preset.settings.summarises
        )

    def rebuild(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Makes all vectors and episodes anew from the turns, with this model and preset."""
        self._rebuild(same_model=False, progress=progress)

    def _accepted(self) -> Accepted:
        """Returns what the store must say of model and preset."""
        return {"model": (self._embedder.identity,), "preset": self._preset.fingerprints}

    def _wanted(self) -> dict[str, str]:
        """Returns what is noted in a new memory."""
        return {
            "model": self._embedder.identity,
            "preset": self._preset.fingerprint,
            "dimension": str(self._embedder.dimension),
        }

    def _agree(self, rebuild: bool, progress: Callable[[int, int], None] | None) -> None:
        """Makes sure that the store and this memory mean the same vectors and episodes."""
        wanted = self._wanted()
        found = self._store.settings()
        if not found:
            self._store.note(wanted)
            found = self._store.settings()
        others = differing(found, self._accepted())
        if not others:
            return
        if not self._store.threads() and self._store.replace_all({}, wanted, expected={}):
            return  # nothing was remembered yet, so nothing is at stake
        if not rebuild:
            name = others[0]
            raise MismatchError(
                f"the memory in {self._store.location} was written with {name} {found.get(name)}, "
                f"asked for {wanted[name]}; open it with the {name} it was written with, or make "
                "it anew with rebuild=True (tsim doctor --rebuild)"
            )
        self._rebuild(same_model="model" not in others, progress=progress)

    def _rebuild(self, *, same_model: bool, progress: Callable[[int, int], None] | None) -> None:
        replay.rebuild(
            self._store,
            self._preset,
            self._embedder,
            settings=self._wanted(),
            same_model=same_model,
            progress=progress,
        )
        self.rebuilt = True


def _opener(path: str | Path | None, store: Store | None) -> Callable[[], Store]:
    """Returns what opens the file, or hands out the store."""
    if path is not None and store is None:
        return partial(SqliteStore, path)
    if store is not None and path is None:
        return lambda: store
    found = "neither" if path is None else "both"
    raise InputError(f"Memory.open takes either a path or store=…, found {found}")


def _written_with(store: Store) -> AnyPreset:
    """Returns the preset that a memory was written with; the default for a new one."""
    found = store.settings().get("preset")
    return next((p for p in PRESETS.values() if found in p.fingerprints), DEFAULT)
