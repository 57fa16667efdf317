"""The front door: a memory file with its threads."""

import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from tsim import transfer
from tsim.embed import Embedder, open_embedder
from tsim.embed.protocol import require_text
from tsim.errors import InputError, MismatchError
from tsim.presets import DEFAULT, PRESETS, Preset, find_preset
from tsim.replay import replay
from tsim.state import MAX_ID
from tsim.store import SqliteStore, Store
from tsim.thread import Thread
from tsim.verify import Report, verify


class Memory:
    """Threads of conversation in one file.

    >>> with Memory.open("memory.db") as memory:  # doctest: +SKIP
    ...     thread = memory.thread("alice")
    ...     thread.add("user", "New projects run on one consumer GPU.")
    ...     print(thread.context("Which model for the new project?"))
    """

    def __init__(self, store: Store, embedder: Embedder, preset: Preset) -> None:
        """Joins a store, an embedder and a preset; `Memory.open` is the usual way."""
        self._store = store
        self._embedder = embedder
        self._preset = preset
        self.rebuilt = False  # whether everything was made anew since the file was opened
        self._threads: dict[str, Thread] = {}
        self._lock = threading.Lock()

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        model: str | Embedder | None = None,
        preset: str | Preset | None = None,
        rebuild: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> Self:
        """Opens a memory file, creating it if needed.

        Args:
            path: The file.
            model: An embedder, or what `tsim.embed.open_embedder` takes.
            preset: The method of remembering, or its name; as the file was written when not given,
                and `LATE` for a new one.
            rebuild: If the file was written with another model or preset, embed and index all its
                turns again instead of refusing.
            progress: Told how many turns of how many a rebuild has done.

        Raises:
            MismatchError: Written with another model or preset, and no rebuild asked for.
            StoreError: The file cannot be used.
        """
        embedder = open_embedder(model) if model is None or isinstance(model, str) else model
        if isinstance(preset, str):
            preset = find_preset(preset)
        store = SqliteStore(Path(path))
        try:
            memory = cls(store, embedder, preset or _written_with(store))
            memory._agree(Path(path), rebuild, progress)
        except BaseException:
            store.close()
            raise
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
        """Lets go of the file."""
        self._store.close()

    def thread(self, name: str) -> Thread:
        """Returns the thread of that name; it comes to be with its first turn."""
        if not require_text(name).strip() or len(name) > 200:
            raise InputError(f"a thread's name is 1 to 200 characters, found {name!r:.80}")
        with self._lock:
            if name not in self._threads:
                self._threads[name] = Thread(
                    name, self._store, self._embedder, self._preset, self._identity()
                )
            return self._threads[name]

    def threads(self) -> list[str]:
        """Names all threads, sorted."""
        return self._store.threads()

    def forget_thread(self, name: str) -> bool:
        """Removes a thread without a trace; tells whether it was there."""
        there = self._store.remove(name)
        if there:
            self._store.scrub()  # stays due, and is seen by verify, if others use the file
        return there

    def export(self, path: str | Path) -> int:
        """Writes everything as JSON lines; returns the number of turns."""
        return transfer.export(self._store, Path(path))

    def import_(self, path: str | Path) -> int:
        """Reads an export of a memory with the same model and preset; returns the turns."""
        return transfer.import_(self._store, Path(path))

    def verify(self) -> Report:
        """Checks the file and everything derived from the turns."""
        return verify(
            self._store, self._embedder.dimension, summarises=self._preset.settings.summarises
        )

    def rebuild(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Makes all vectors and episodes anew from the turns, with this model and preset."""
        self._rebuild(same_model=False, progress=progress)

    def _identity(self) -> dict[str, str]:
        return {"model": self._embedder.identity, "preset": self._preset.fingerprint}

    def _wanted(self) -> dict[str, str]:
        return {**self._identity(), "dimension": str(self._embedder.dimension)}

    def _agree(
        self, path: Path, rebuild: bool, progress: Callable[[int, int], None] | None
    ) -> None:
        """Makes sure that the file and this memory speak of the same vectors and episodes."""
        wanted = self._wanted()
        found = self._store.settings()
        if not found:
            self._store.note(wanted)
            found = self._store.settings()
        differing = [key for key in self._identity() if found.get(key) != wanted[key]]
        if not differing:
            return
        if not self._store.threads() and self._store.replace_all({}, wanted, expected={}):
            return  # nothing was remembered yet, so nothing is at stake
        if not rebuild:
            key = differing[0]
            raise MismatchError(
                f"{path} was written with {key} {found.get(key)}, asked for {wanted[key]}; open it "
                f"with the former, or make it anew with rebuild=True (tsim doctor --rebuild)"
            )
        self._rebuild(same_model="model" not in differing, progress=progress)

    def _rebuild(self, *, same_model: bool, progress: Callable[[int, int], None] | None) -> None:
        while not self._replayed(same_model=same_model, progress=progress):
            pass  # somebody added turns meanwhile
        self.rebuilt = True

    def _replayed(self, *, same_model: bool, progress: Callable[[int, int], None] | None) -> bool:
        """Makes everything anew; writes it unless a thread has changed since it was read."""
        with self._store.snapshot():
            # Vectors that will be made anew are not read: they may be what is damaged.
            first = 0 if same_model else MAX_ID
            states = {
                name: self._store.load_since(name, turn=first, episode=first)
                for name in self._store.threads()
            }
            texts = {name: [t for _, t in self._store.all_turns(name)] for name in states}
        total = sum(len(turns) for turns in texts.values())
        done = 0
        contents = {}
        for name, state in states.items():
            before = done
            contents[name] = replay(
                self._preset,
                self._embedder,
                texts[name],
                next_turn=state.counters.turn,
                vectors=state.turn_vectors if same_model else None,
                progress=(lambda n, b=before: progress(b + n, total)) if progress else None,  # type: ignore[misc]
            )
            done += len(texts[name])
        versions = {name: state.version for name, state in states.items()}
        return self._store.replace_all(contents, self._wanted(), expected=versions)


def _written_with(store: Store) -> Preset:
    """Returns the preset that a memory was written with; the default for a new one."""
    found = store.settings().get("preset")
    return next((p for p in PRESETS.values() if p.fingerprint == found), DEFAULT)
