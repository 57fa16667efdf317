"""`Memory`: the threads in one store."""

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from tsim import replay
from tsim.counting import Tokens, open_measure
from tsim.embed import Embedder, open_embedder
from tsim.embed.protocol import require_text
from tsim.errors import InputError, MismatchError
from tsim.presets import DEFAULT, PRESETS, AnyPreset, find_preset, suited
from tsim.store import Accepted, SqliteStore, Store
from tsim.store.agreement import differing
from tsim.thread import Thread
from tsim.verify import Verification, verify


class Memory:
    """Conversation threads in one file, or in another store.

    >>> with Memory.open("memory.db") as memory:  # doctest: +SKIP
    ...     thread = memory.thread("alice")
    ...     thread.add("user", "New projects run on one consumer GPU.")
    ...     print(thread.context("Which model for the new project?"))

    Attributes:
        rebuilt: Whether the memory was rebuilt since it was opened.
    """

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        preset: AnyPreset,
        *,
        tokens: Tokens = "estimate",
        rebuild: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """Combines a store, an embedder and a preset; `Memory.open` accepts them by name.

        Args:
            store: Stores the threads. The caller closes it.
            embedder: Computes the vectors.
            preset: The memory method and its constants. `LATE` is used with the weights that were
                fitted for the embedder's model.
            tokens: What counts the tokens of budgets; see `Memory.open`.
            rebuild: If the memory was written with another model or preset, embed and index all
                its turns again instead of raising `MismatchError`.
            progress: Called during a rebuild with the number of turns done and the total.

        Raises:
            InputError: `tokens` cannot be used.
            MismatchError: The memory was written with another model or preset, and `rebuild` is
                False.
            StoreError: The store cannot be used.
        """
        self._measure = open_measure(tokens)
        self._store = store
        self._embedder = embedder
        self._preset = suited(preset, embedder.identity)
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
        tokens: Tokens = "estimate",
        rebuild: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> Self:
        """Opens a memory file, creating it if needed, or the memory in another store.

        Args:
            path: The file. Omit it if `store` is given.
            store: A store that is already open. The caller closes it.
            model: An embedder, or any value that `tsim.embed.open_embedder` accepts.
            preset: A preset or its name. Defaults to the preset the memory was written with, or
                `LATE` for a new memory.
            tokens: What counts the tokens of budgets: `"estimate"`, for any script and model;
                `"words"`, 1.3 × whitespace-separated words; the path of a Hugging Face
                `tokenizer.json`; `"tiktoken:NAME"`, if tiktoken is installed; or a function that
                takes a text and returns its number of tokens.
            rebuild: If the memory was written with another model or preset, embed and index all
                its turns again instead of raising `MismatchError`.
            progress: Called during a rebuild with the number of turns done and the total.

        Raises:
            InputError: Both or neither of `path` and `store` were given, the preset is unknown, or
                `tokens` cannot be used.
            MismatchError: The memory was written with another model or preset, and `rebuild` is
                False.
            StoreError: The file or store cannot be used.
        """
        open_store = _opener(path, store)
        embedder = open_embedder(model) if model is None or isinstance(model, str) else model
        if isinstance(preset, str):
            preset = find_preset(preset)
        opened = open_store()
        try:
            written = preset or _written_with(opened)
            memory = cls(
                opened, embedder, written, tokens=tokens, rebuild=rebuild, progress=progress
            )
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
        """Closes the file opened by `Memory.open(path)`; a store passed in stays open."""
        if self._closes_store:
            self._store.close()

    def thread(self, name: str) -> Thread:
        """Returns the thread with the given name; adding its first turn creates it."""
        if not require_text(name).strip() or len(name) > 200:
            raise InputError(f"a thread name must have 1 to 200 characters, found {name!r:.80}")
        with self._lock:
            if name not in self._threads:
                self._threads[name] = Thread(
                    name,
                    self._store,
                    self._embedder,
                    self._preset,
                    self._accepted(),
                    self._measure,
                )
            return self._threads[name]

    def threads(self) -> list[str]:
        """Returns the names of all threads, sorted."""
        return self._store.threads()

    def forget_thread(self, name: str) -> bool:
        """Removes a thread and erases its content; returns whether it existed."""
        there = self._store.remove(name)
        if there:
            self._store.scrub()  # stays due, and is retried by verify, if others use the memory
        return there

    def export(self, path: str | Path) -> int:
        """Writes the whole memory as JSON lines; returns the number of turns."""
        from tsim import transfer  # brings pydantic, which nothing else here needs

        return transfer.export(self._store, Path(path))

    def import_(self, path: str | Path) -> int:
        """Imports an export made with the same model and preset; returns the number of turns."""
        from tsim import transfer

        return transfer.import_(self._store, Path(path), settings=self._accepted())

    def verify(self) -> Verification:
        """Checks the store and the data derived from the turns."""
        return verify(
            self._store, self._embedder.dimension, summarises=self._preset.settings.summarises
        )

    def rebuild(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Recomputes all vectors and episodes from the turns, with this model and preset."""
        self._rebuild(same_model=False, progress=progress)

    def _accepted(self) -> Accepted:
        """Returns the model and preset values that the store may have."""
        return {"model": (self._embedder.identity,), "preset": self._preset.fingerprints}

    def _wanted(self) -> dict[str, str]:
        """Returns the settings to record in a new memory."""
        return {
            "model": self._embedder.identity,
            "preset": self._preset.fingerprint,
            "dimension": str(self._embedder.dimension),
        }

    def _agree(self, rebuild: bool, progress: Callable[[int, int], None] | None) -> None:
        """Makes sure that the store was written with this model and preset."""
        wanted = self._wanted()
        found = self._store.settings()
        if not found:
            self._store.note(wanted)
            found = self._store.settings()
        others = differing(found, self._accepted())
        if not others:
            return
        if not self._store.threads() and self._store.replace_all({}, wanted, expected={}):
            return  # the memory has no threads, so there is nothing to rebuild
        if not rebuild:
            name = others[0]
            raise MismatchError(
                f"the memory in {self._store.location} was written with {name} {found.get(name)}, "
                f"but {wanted[name]} was requested; open it with the {name} it was written with, "
                "or rebuild it with rebuild=True (tsim doctor --rebuild)"
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
    """Returns a function that opens the file or returns the given store."""
    if path is not None and store is None:
        return partial(SqliteStore, path)
    if store is not None and path is None:
        return lambda: store
    found = "neither" if path is None else "both"
    raise InputError(f"Memory.open takes either a path or store=…, found {found}; give one of them")


def _written_with(store: Store) -> AnyPreset:
    """Returns the preset that a memory was written with, or the default for a new memory."""
    found = store.settings().get("preset")
    return next((p for p in PRESETS.values() if found in p.fingerprints), DEFAULT)
