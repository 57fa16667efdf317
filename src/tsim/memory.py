"""`Memory`: the threads in one store."""

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self, Unpack
from weakref import WeakValueDictionary

from tsim import environment, replay
from tsim.across import across
from tsim.arguments import known, listed, place
from tsim.arguments import path as checked_path
from tsim.assemble import CONTEXT_BUDGET, render
from tsim.checking import check_name
from tsim.comparing import MOST, Rehearsal, rehearse
from tsim.counting import Tokens, open_measure
from tsim.embed import Embedder, open_embedder, open_written
from tsim.embed.checked import CheckedEmbedder
from tsim.embed.protocol import require_text
from tsim.engine import Query
from tsim.errors import InputError, MismatchError, StoreError
from tsim.filter import Narrowing
from tsim.presets import AnyPreset, Preset, find_preset, suited, written_with
from tsim.residency import RESIDENT_TURNS, Residency
from tsim.store import Accepted, Store, open_store
from tsim.store.agreement import differing
from tsim.thread import Thread
from tsim.types import Hit, Hits
from tsim.uncaching import CachedVectors
from tsim.verify import Verification, verify


class Memory:
    """Conversation threads in one file, in a database, or in another store.

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
        resident: int | Residency | None = RESIDENT_TURNS,
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
            resident: How many turns stay in RAM; see `Memory.open`.
            rebuild: If the memory was written with another model or preset, embed and index all
                its turns again instead of raising `MismatchError`.
            progress: Called during a rebuild with the number of turns done and the total.

        Raises:
            InputError: `tokens` or `resident` cannot be used.
            ModelError: The embedder has no identity or dimension.
            MismatchError: The memory was written with another model or preset, and `rebuild` is
                False.
            StoreError: The store cannot be used.
        """
        self._measure = open_measure(tokens)
        self._store = store
        self._embedder: Embedder = CheckedEmbedder(embedder)
        self._preset = suited(preset, self._embedder.identity)
        self._closes_store = False
        self._residency = resident if isinstance(resident, Residency) else Residency(resident)
        # Whoever uses a thread holds it, and the residency holds those in RAM.
        self._threads: WeakValueDictionary[str, Thread] = WeakValueDictionary()
        self._lock = threading.Lock()
        self.rebuilt = False
        if rebuild and store.read_only:
            raise InputError("a memory cannot be rebuilt read-only; open it for writing")
        self._agree(rebuild, progress)

    @classmethod
    def open(  # noqa: PLR0913  # whatever can be chosen when a memory is opened
        cls,
        path: str | Path | None = None,
        *,
        store: Store | None = None,
        model: str | Embedder | None = None,
        preset: str | AnyPreset | None = None,
        tokens: Tokens = "estimate",
        resident: int | Residency | None = RESIDENT_TURNS,
        read_only: bool = False,
        rebuild: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> Self:
        """Opens a memory file, creating it if needed, or the memory in another store.

        Args:
            path: The file, or the address of a memory in PostgreSQL, as text:
                `postgresql://user@host/database#namespace`. Omit it if `store` is given.
            store: A store that is already open. The caller closes it.
            model: An embedder, or any value that `tsim.embed.open_embedder` accepts. Defaults to
                `TSIM_MODEL`; to the known model that the memory was written with; or to the
                default model for a new memory.
            preset: A preset or its name. Defaults to the preset the memory was written with, or
                `LATE` for a new memory.
            tokens: What counts the tokens of budgets: `"estimate"`, for any script and model;
                `"words"`, 1.3 × whitespace-separated words; the path of a Hugging Face
                `tokenizer.json`; `"tiktoken:NAME"`, if tiktoken is installed; or a function that
                takes a text and returns its number of tokens.
            resident: How many turns stay in RAM, in all threads together. The threads that were
                not used for the longest time are unloaded, and loaded again when they are used.
                A `Residency` can be shared by several memories; None for no bound.
            read_only: Search and export a file that may not be written: nothing is written to the
                file, which must exist. Whatever would change the memory raises
                `StoreReadOnlyError`.
            rebuild: If the memory was written with another model or preset, embed and index all
                its turns again instead of raising `MismatchError`.
            progress: Called during a rebuild with the number of turns done and the total.

        Raises:
            InputError: Both or neither of `path` and `store` were given, the preset is unknown, or
                `tokens` or `resident` cannot be used.
            MismatchError: The memory was written with another model or preset, and `rebuild` is
                False.
            StoreError: The file or store cannot be used.
        """
        opener = _opener(path, store, read_only)
        if model is None:
            model = environment.chosen_model()
        embedder = open_embedder(model) if isinstance(model, str) else model
        if embedder is not None and not hasattr(embedder, "embed"):
            raise InputError(f"model={model!r:.80} is no embedder; pass its name, or an Embedder")
        if preset is not None and not isinstance(preset, Preset):
            preset = find_preset(preset)
        opened = opener()
        try:
            memory = cls(
                opened,
                embedder or open_written(opened.settings().get("model")),
                preset or written_with(opened.settings().get("preset")),
                tokens=tokens,
                resident=resident,
                rebuild=rebuild,
                progress=progress,
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
        """Closes the file opened by `Memory.open(path)`; a store passed in stays open.

        What the threads keep in RAM is freed.
        """
        self._residency.unload([*self._threads.values()])
        if self._closes_store:
            self._store.close()

    def __repr__(self) -> str:
        """Returns the location, the preset, the model and the number of threads."""
        try:
            size = f"{len(self._store.threads())} threads"
        except StoreError as error:
            size = type(error).__name__
        state = ", read-only" if self._store.read_only else ""
        using = f"preset {self._preset.name}, model {self._embedder.identity}"
        return f"<Memory {self._store.location}: {size}, {using}{state}>"

    @property
    def model(self) -> str:
        """The identity of the embedding model."""
        return self._embedder.identity

    @property
    def preset(self) -> AnyPreset:
        """The preset, with the weights that were fitted for the model."""
        return self._preset

    @property
    def erased(self) -> bool:
        """Whether the bytes of everything that was forgotten are erased from the store."""
        return not self._store.scrub_due()

    def load_model(self) -> None:
        """Loads the embedding model now instead of with the first text.

        Raises:
            WeightsMissingError: Its weights are not here.
        """
        self._embedder.embed_query("ready")

    def count_tokens(self, text: str) -> int:
        """Returns how many tokens a text has, as budgets count them."""
        return self._measure.tokens(require_text(text))

    def thread(self, name: str) -> Thread:
        """Returns the thread with the given name; adding its first turn creates it.

        Until then its `len` is 0, and reading it (`search`, `context`, `turns`, `episodes`,
        `forget`) raises `ThreadMissingError`.
        """
        check_name(name)
        with self._lock:
            thread = self._threads.get(name)
            if thread is None:
                thread = self._threads[name] = Thread(
                    name,
                    self._store,
                    self._embedder,
                    self._preset,
                    self._accepted,
                    self._measure,
                    self._residency,
                )
            return thread

    def threads(self) -> list[str]:
        """Returns the names of all threads, sorted."""
        return self._store.threads()

    def search(
        self,
        query: str,
        *,
        threads: Iterable[str],
        k: int | None = None,
        budget: int | None = None,
        min_relevance: float | None = None,
        tokens: Tokens | None = None,
        named: bool = False,
        **only: Unpack[Narrowing],
    ) -> Hits:
        """Finds what is relevant to a query in several threads, best first.

        Only the threads that are named are read. `hit.thread` says where a hit is from.

        Args:
            query: A question or request in plain language.
            threads: The names of the threads.
            k: Maximum number of hits in all.
            budget: Maximum number of tokens in all hits together, divided among the threads by how
                likely each holds what was asked. Defaults to the preset's budget, if it has one.
            min_relevance: As for `Thread.search`.
            tokens: As for `Thread.search`.
            named: Whether the names of threads in headings, as `write` puts them there, use up the
                budget, too.
            only: `since`, `until`, `roles`, `meta` and `now`, as for `Thread.search`. Without
                `now`, "yesterday" is relative to the latest turn of each thread.

        Raises:
            InputError: The query is empty, no thread is named, or a value is out of range.
            ThreadMissingError: One of the threads does not exist.
        """
        asked, names = self._asked(query, threads, k, budget, min_relevance, tokens, only)
        return Hits(self._across(asked, names, named=named))

    def context(
        self,
        query: str,
        *,
        threads: Iterable[str],
        budget: int = CONTEXT_BUDGET,
        min_relevance: float | None = None,
        tokens: Tokens | None = None,
        **only: Unpack[Narrowing],
    ) -> str:
        """Returns what is relevant to a query in several threads as text for a prompt.

        Headings name the thread: `[alice 3-9]`. Threads are in the given order.
        """
        names = listed("threads", threads)
        hits = self.search(
            query,
            threads=names,
            budget=budget,
            min_relevance=min_relevance,
            tokens=tokens,
            named=True,
            **only,
        )
        return self.write(hits, threads=names)

    def write(self, hits: Sequence[Hit], *, threads: Iterable[str]) -> str:
        """Returns hits in several threads as text for a prompt, the threads in the given order."""
        return render(self._arranged(listed("threads", threads), hits), named=True)

    def rehearse(
        self,
        thread: str,
        preset: str | AnyPreset,
        *,
        most: int = MOST,
        known: Rehearsal | None = None,
    ) -> Rehearsal:
        """Replays a thread in RAM with another preset, to compare what both find.

        Vectors of turns are those that are stored; summaries or runs of turns may be embedded.

        >>> other = memory.rehearse("alice", "official")  # doctest: +SKIP
        >>> other.find(memory.thread("alice").prepare("Which model?", budget=600))  # doctest: +SKIP

        Args:
            thread: The name of the thread.
            preset: A preset or its name.
            most: Maximum number of turns of the thread.
            known: An earlier rehearsal, which is returned if nothing has changed.

        Raises:
            InputError: The preset is unknown, or the thread has more turns.
            ThreadMissingError: The thread does not exist.
        """
        found = preset if isinstance(preset, Preset) else find_preset(preset)
        suitable = suited(found, self._embedder.identity)
        return rehearse(self._store, self._embedder, thread, suitable, most=most, known=known)

    def forget_thread(self, name: str) -> bool:
        """Removes a thread and erases its content; returns whether it existed."""
        cached = CachedVectors(self._embedder, self._store, name)
        there = self._store.remove(name)
        if there:
            self._residency.unload([self.thread(name)])
            cached.forget_removed()
            self._store.scrub()  # stays due, and is retried by verify, if others use the memory
        return there

    def export(self, target: str | Path | BinaryIO, *, threads: Iterable[str] | None = None) -> int:
        """Writes the memory as JSON lines.

        Args:
            target: The file to write, or a binary stream such as `sys.stdout.buffer`. A file is
                complete or absent.
            threads: The names of the threads to write; None for all.

        Returns:
            The number of turns.

        Raises:
            ThreadMissingError: One of the threads does not exist.
        """
        from tsim import transfer  # brings pydantic, which nothing else here needs

        names = None if threads is None else listed("threads", threads)
        return transfer.export(self._store, place(target, "write"), names)

    def import_(self, source: str | Path | BinaryIO) -> int:
        """Imports an export made with the same model and preset.

        Args:
            source: The file, or a binary stream such as `sys.stdin.buffer`.

        Returns:
            The number of turns.

        Raises:
            InputError: The export is damaged, incomplete or not sound, or has a thread that
                exists; nothing was imported.
            MismatchError: It was made with another model or preset.
        """
        from tsim import transfer

        return transfer.import_(
            self._store,
            place(source, "read"),
            settings=self._accepted,
            dimension=self._embedder.dimension,
            summarises=self._preset.settings.summarises,
        )

    def backup(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Writes a copy of the memory file, while others may use and change the memory.

        The copy has one state of the memory and nothing that was forgotten. It is complete or
        absent, only its owner may read it, and it opens as any memory file.

        Args:
            path: The file to write.
            overwrite: Replace the file if it exists.

        Raises:
            InputError: The file exists and `overwrite` is False, or it cannot be written.
            StoreError: The memory is in a store that is not a file.
        """
        self._store.backup(checked_path("path", path), overwrite=overwrite)

    def verify(self) -> Verification:
        """Checks the store and the data derived from the turns."""
        return verify(
            self._store,
            self._embedder.dimension,
            settings=self._accepted,
            summarises=self._preset.settings.summarises,
        )

    def rebuild(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Recomputes all vectors and episodes from the turns, with this model and preset."""
        self._rebuild(same_model=False, progress=progress)

    def _asked(
        self,
        query: str,
        threads: Iterable[str],
        k: int | None,
        budget: int | None,
        least: float | None,
        tokens: Tokens | None,
        only: Narrowing,
    ) -> tuple[Query, list[str]]:
        """Checks a query to several threads; returns it with their names."""
        known(only, Narrowing.__annotations__)
        names = listed("threads", threads)
        for name in names:
            self.thread(name).require()
        first = self.thread(names[0])
        asked = first.prepare(query, k=k, budget=budget, min_relevance=least, tokens=tokens, **only)
        return asked, names

    def _across(self, asked: Query, names: Sequence[str], *, named: bool) -> list[Hit]:
        def find(name: str, budget: int | None) -> list[Hit]:
            return self.thread(name).find(replace(asked, budget=budget), named=named)

        return across(
            {name: partial(find, name) for name in names},
            asked,
            arrange=partial(self._arranged, names),
            named=named,
        )

    def _arranged(self, names: Sequence[str], hits: Sequence[Hit]) -> list[Hit]:
        """Sorts hits by thread, in the given order, and within each as the preset does."""
        arrange = self._preset.settings.arrange
        return [
            hit for name in names for hit in arrange([one for one in hits if one.thread == name])
        ]

    @cached_property
    def _accepted(self) -> Accepted:
        """The model and preset values that the store may have; writing a preset takes a while."""
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
        if self._store.read_only and not self._store.threads():
            return  # there is nothing to be read
        if not found:
            self._store.note(wanted)
            found = self._store.settings()
        others = differing(found, self._accepted)
        if not others:
            return
        if not self._store.threads() and self._store.replace_all({}, wanted, expected={}):
            return  # the memory has no threads, so there is nothing to rebuild
        if not rebuild:
            name = others[0]
            raise MismatchError(
                f"the memory in {self._store.location} was written with {name} {found.get(name)}, "
                f"but {wanted[name]} was requested; open it with the {name} it was written with, "
                f"or rebuild it with rebuild=True (tsim doctor --rebuild --{name} NAME)"
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


def _opener(path: str | Path | None, store: Store | None, read_only: bool) -> Callable[[], Store]:
    """Returns a function that opens the file or returns the given store."""
    if path is not None and store is None:
        return partial(open_store, path, read_only=read_only)
    if store is not None and read_only and not store.read_only:
        raise InputError(
            "read_only=True is for files; open the store read-only and pass it as it is"
        )
    if store is not None and path is None:
        return lambda: store
    found = "neither" if path is None else "both"
    raise InputError(f"Memory.open takes either a path or store=…, found {found}; give one of them")
