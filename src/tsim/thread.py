"""`Thread`: one conversation in a memory."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Unpack

from tsim import braiding, finding, mapping
from tsim.arguments import positive, share
from tsim.assemble import CONTEXT_BUDGET as CONTEXT_BUDGET
from tsim.assemble import render
from tsim.braiding import Braid
from tsim.consistency import require_consistent
from tsim.contention import FairLock, Remembering, Turns
from tsim.counting import Tokens, open_measure
from tsim.embed import (
    Embedder,
    Sentences,
    Starts,
    embed_passages,
    embed_turns,
    find_passages,
)
from tsim.embed.protocol import require_text
from tsim.engine import Engine, Host, Query
from tsim.errors import InputError, TsimError
from tsim.filter import Narrowing, make_filter
from tsim.forgetting import near_the_best, offer, preview, select
from tsim.incoming import Progress, TurnLike, accept, assign, missing, require_same
from tsim.mapping import BLOCKS, ThreadMap
from tsim.presets import AnyPreset
from tsim.residency import Residency
from tsim.selection import selection
from tsim.state import EMPTY, Changes, Counters
from tsim.store import Accepted, Reader, Store
from tsim.store.agreement import require
from tsim.stored import StoredThread
from tsim.times import Time, moment, seconds
from tsim.tokens import Measure
from tsim.types import (
    Episode,
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
from tsim.uncaching import CachedVectors
from tsim.vectors import Vector, Vectors

# Turns that `add_many` writes in one transaction.
CHUNK = 512
# A version that no thread has: the engine has to catch up.
BEHIND = -1


class Thread(StoredThread):
    """A thread of turns, as returned by `Memory.thread`.

    Safe to use from several threads, and while other processes use the same memory. Calls block;
    from async code use `await asyncio.to_thread(thread.add, …)`.
    """

    def __init__(
        self,
        name: str,
        store: Store,
        embedder: Embedder,
        preset: AnyPreset,
        settings: Accepted,
        measure: Measure,
        residency: Residency,
    ) -> None:
        """Prepares the thread; it is read from the store when first used.

        Args:
            name: The name of the thread.
            store: Stores the thread.
            embedder: Computes the vectors.
            preset: The memory method and its constants.
            settings: The accepted values of the store's model and preset settings.
            measure: What budgets are measured by, unless a call says otherwise.
            residency: Decides how long the thread stays in RAM.
        """
        super().__init__(name, store)
        self._settings = settings
        self._embedder = embedder
        self._preset = preset
        self._measure = measure
        self._residency = residency
        self._lock = FairLock()
        self._engine: Engine | None = None
        self._version = (0, 0)

    def add(
        self,
        role: str,
        text: str,
        at: float | datetime | None = None,
        *,
        id: str | None = None,
        meta: Meta | None = None,
    ) -> Receipt:
        """Adds a turn durably. Searches find it as soon as this method returns.

        Args:
            role: The speaker: `user`, `model`, or any other name (`system`, `tool`, …).
            text: The text of the turn.
            at: The time of the turn, if known: seconds since the epoch, or a datetime with a time
                zone.
            id: What the turn is called where it comes from, at most 256 characters. If the thread
                has a turn with this id, the same role and the same text, nothing is written and the
                receipt of that turn is returned. A forgotten turn leaves its id free.
            meta: Names and values to keep with the turn: text, numbers, booleans or None; at most
                32 names, and 4,096 bytes as JSON.

        Raises:
            InputError: The turn is invalid, or its id belongs to a turn with another role or text.
            StoreError: The turn could not be written; the memory is unchanged.
        """
        at = None if at is None else seconds(at, "at")
        return self.add_many([NewTurn(role=role, text=text, at=at, id=id, meta=meta)])[0]

    def add_many(self, turns: Iterable[TurnLike], *, progress: Progress | None = None) -> Receipts:
        """Adds turns, with the same result as calling `add` for each of them, but faster.

        A turn is a `NewTurn`, a tuple (role, text) or (role, text, at), or a mapping with `role`
        and either `text` or `content`, as used by chat APIs: messages, requests and responses of
        OpenAI and Anthropic can be given as they are. What is not text is left out; a message
        without any adds nothing, and the results of tools in a message become turns of their own.
        `skipped` on the returned list counts what was left out.

        All turns are checked before the first is written. They are written in chunks; `progress` is
        called with the number of turns written so far and the total.

        Raises:
            InputError: A turn is invalid, or its id belongs to another turn; nothing was added.
            StoreError: A chunk could not be written; the chunks before it are kept.
        """
        batch = accept(turns)
        checked = batch.turns
        require_same(checked, self._called(self._store, checked))
        receipts = Receipts(skipped=batch.skipped)
        for start in range(0, len(checked), CHUNK):
            try:
                receipts += self._add(checked[start : start + CHUNK])
            except TsimError as error:
                if receipts:
                    kept = f"the first {len(receipts)} of {len(checked)} turns are kept; then"
                    raise type(error)(f"{kept}: {error}") from error
                raise
            if progress:
                progress(len(receipts), len(checked))
        return receipts

    def search(  # noqa: PLR0913  # one argument for each way to narrow it
        self,
        query: str,
        *,
        k: int | None = None,
        budget: int | None = None,
        min_relevance: float | None = None,
        tokens: Tokens | None = None,
        since: Time | None = None,
        until: Time | None = None,
        roles: Sequence[str] | None = None,
        meta: Meta | None = None,
        now: Time | None = None,
    ) -> Hits:
        """Finds the episodes that are relevant to a query, best first.

        Args:
            query: A question or request in plain language.
            k: Maximum number of episodes to return. Defaults to the preset's number.
            budget: Maximum number of tokens of the hits as `write` returns them; hits that do not
                fit are skipped, and a first turn that does not fit is cut (`Turn.shown`). Defaults
                to the preset's budget, if it has one.
            min_relevance: Leave out hits that are less likely than this (0 to 1) to hold what was
                asked. By default, nothing is returned if it is unlikely that any hit holds it:
                less likely than for 99 % of the questions that have an answer.
            tokens: What counts the tokens: a value that `Memory.open` accepts. Defaults to what
                the memory was opened with.
            since: Only turns from this time on: a datetime with a time zone, seconds since the
                epoch, or an ISO 8601 text (UTC unless it says otherwise). Turns without a time are
                left out by `since` and `until`.
            until: Only turns before this time.
            roles: Only turns of these speakers, by their exact names.
            meta: Only turns that were added with these names and values, and maybe others.
            now: When the query is asked, for "yesterday", "two weeks ago" or "in March": turns of
                the time it is about are preferred, but others are not left out. Days are those of
                its time zone. Defaults to the time of the latest turn. Ignored by presets of the
                paper's method.

        Filters apply first: what they leave out is not ranked and uses none of the budget.

        Raises:
            InputError: The query is empty, or a value is out of range.
            ThreadMissingError: The thread does not exist.
        """
        asked = self.prepare(
            query,
            k=k,
            budget=budget,
            min_relevance=min_relevance,
            tokens=tokens,
            since=since,
            until=until,
            roles=roles,
            meta=meta,
            now=now,
        )
        return self.find(asked)

    def prepare(
        self,
        query: str,
        *,
        k: int | None = None,
        budget: int | None = None,
        min_relevance: float | None = None,
        tokens: Tokens | None = None,
        **only: Unpack[Narrowing],
    ) -> Query:
        """Checks a query. `find` answers it, in this thread or another one."""
        now = only.get("now")
        positive(k=k, budget=budget)
        measure = self._measure if tokens is None else open_measure(tokens)
        most = self._preset.settings.budget if budget is None else budget
        least = None if min_relevance is None else share("min_relevance", min_relevance)
        return replace(
            self._asked(query),
            count=k,
            budget=most,
            measure=measure,
            least=least,
            only=make_filter(
                since=only.get("since"),
                until=only.get("until"),
                roles=only.get("roles"),
                meta=only.get("meta"),
            ),
            now=None if now is None else moment(now, "now"),
        )

    def find(self, asked: Query, *, named: bool = False) -> Hits:
        """Finds the episodes that are relevant to a prepared query, best first.

        Args:
            asked: The query.
            named: Whether the headings of the hits will name the thread.
        """
        asked = replace(asked, thread=self.name if named else "")
        # Embedded before the lock is taken: adding to the thread does not wait for a server.
        self.require()
        texts = self._preset.settings.asked(asked.text)
        vectors = {text: self._embedder.embed_query(text) for text in texts}

        def embedded(text: str) -> Vector:
            # A question that names a speaker is searched for as this speaker would put it.
            return vectors[text] if text in vectors else self._embedder.embed_query(text)

        with self._asking() as (engine, reader):
            host = replace(self._host(reader), embed_query=embedded)
            found = finding.find(engine, asked, host, self.name)
        return Hits(found.within(asked, self._preset.settings, named=named))

    def nearest(self, query: str, *, k: int = 20) -> list[NearTurn]:
        """Returns the turns nearest to a query by cosine alone, best first.

        Exact, like searches, but the thread is not loaded into RAM: for threads that are too long
        for that. There are no episodes, spans or relevances, and words do not count.

        Args:
            query: A question or request in plain language.
            k: Maximum number of turns.

        Raises:
            InputError: The query is empty, or a value is out of range.
            ThreadMissingError: The thread does not exist.
        """
        positive(k=k)
        asked = self._asked(query)
        self.require()
        vector = self._embedder.embed_query(asked.text)
        with self._store.snapshot() as reader:
            self._require(reader)
            found = reader.nearest(self.name, vector, k)
            turns = {turn.id: turn for turn in reader.turns(self.name, [turn for turn, _ in found])}
        return [NearTurn(turn=turns[turn], cosine=cosine) for turn, cosine in found]

    def views(self, query: str) -> Mapping[str, frozenset[int]]:
        """Returns the turns that each view finds, before ranking. Intended for diagnostics."""
        asked = self._asked(query)
        with self._asking() as (engine, reader):
            return engine.views(asked, self._host(reader))

    def context(  # noqa: PLR0913  # those of `search`
        self,
        query: str,
        *,
        budget: int = CONTEXT_BUDGET,
        min_relevance: float | None = None,
        tokens: Tokens | None = None,
        since: Time | None = None,
        until: Time | None = None,
        roles: Sequence[str] | None = None,
        meta: Meta | None = None,
        now: Time | None = None,
    ) -> str:
        """Returns the episodes relevant to a query as text for a prompt, within the budget.

        The text is empty if nothing in the thread seems to hold what was asked, or if the budget is
        too small for any of it. The arguments are those of `search`.
        """
        hits = self.search(
            query,
            budget=budget,
            min_relevance=min_relevance,
            tokens=tokens,
            since=since,
            until=until,
            roles=roles,
            meta=meta,
            now=now,
        )
        return self.write(hits)

    def write(self, hits: Sequence[Hit]) -> str:
        """Returns hits as text for a prompt, in the preset's order."""
        return render(self._preset.settings.arrange(hits))

    def episodes(self, *, threshold: float | None = None) -> Episodes:
        """Returns all episodes in order, the open one last.

        Args:
            threshold: Recompute the episodes: begin one wherever a new topic is at least this
                likely (0 to 1), instead of using the episodes assigned as turns arrived. Recomputed
                episodes are numbered from 0; their numbers cannot be passed to `forget`.

        Raises:
            InputError: The preset cannot recompute episodes, or the threshold is out of range.
        """
        if threshold is not None:
            return self._cut_anew(threshold)
        grouped: dict[int, list[Turn]] = {}
        with self._store.snapshot() as reader:
            self._require(reader)
            for episode, turn in reader.all_turns(self.name):
                grouped.setdefault(episode, []).append(turn)
            still_open = {turn.id for turn in reader.open_turns(self.name)}
        return Episodes(
            Episode(id=episode, turns=tuple(turns), open=turns[-1].id in still_open)
            for episode, turns in grouped.items()
        )

    def map(
        self,
        *,
        threshold: float | None = None,
        first: int | None = None,
        last: int | None = None,
        blocks: int = BLOCKS,
    ) -> ThreadMap:
        """Returns the episodes as blocks along the turns, without texts: quick for long threads.

        Args:
            threshold: As for `episodes`.
            first: The first turn of the map; by default the first of the thread.
            last: The last turn of the map; by default the last of the thread.
            blocks: Maximum number of blocks; if there are more episodes, a block holds several.

        Raises:
            InputError: The preset cannot recompute episodes, or a value is out of range.
            ThreadMissingError: The thread does not exist.
        """
        with self._asking() as (engine, reader):
            outline = engine.outline(self._host(reader))
        return mapping.draw(outline, threshold=threshold, first=first, last=last, blocks=blocks)

    def braid(self, first: int, last: int) -> Braid:
        """Returns who answers whom between two turns, where conversations are interleaved.

        Args:
            first: The first turn.
            last: The last turn; at most 500 turns at a time.

        Raises:
            InputError: The range is empty or too long.
            ThreadMissingError: The thread does not exist.
        """
        turns = braiding.braided(first, last)
        with self._asking() as (engine, reader):
            host = self._host(reader)
            outline, replies = engine.outline(host), engine.replies(turns, host)
        return braiding.braid(outline, replies, turns)

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
        """Removes turns and erases their texts from the store, all in one transaction.

        Data derived from them is recomputed from the remaining turns. Other ids do not change.

        Args:
            turn: Id of a turn.
            turns: Ids of turns.
            episode: Id of an episode.
            roles: Turns of these speakers.
            since: Turns at this time or later: a datetime with a time zone, seconds since the
                epoch, or an ISO 8601 text (UTC unless it says otherwise).
            until: Turns before this time. Turns without a time are not removed by time.
            meta: Turns that were added with these names and values, and maybe others.

        Returns:
            What was removed: nothing if no turn passes the filters.

        Raises:
            InputError: Turns were named in no way or in several ways, or one does not exist.
                Filters (`roles`, `since`, `until`, `meta`) may be combined: turns must pass all.
            ThreadMissingError: The thread does not exist.
        """
        wanted = selection(
            turn=turn,
            turns=turns,
            episode=episode,
            roles=roles,
            since=since,
            until=until,
            meta=meta,
        )
        cached = CachedVectors(self._embedder, self._store, self.name)
        embedder = Remembering(self._embedder)
        with Turns(self._store, self.name, patience=1) as way:
            while True:
                with self._using():
                    with self._store.snapshot() as reader:
                        self._require(reader)
                        gone = [one.id for one in select(reader, self.name, wanted)]
                        engine = self._current(reader)
                    if not gone:
                        return Forgotten(turns=())
                    host = self._host(self._store, embedder)
                    changes, forgotten, rest = engine.forget(gone, host)
                    self._engine = None  # in case storing fails
                    stored = self._commit(changes, engine.counters, way)
                    self._engine = rest if stored else rest and engine
                    if stored:
                        break
                way.lost()
        return replace(forgotten, scrubbed=self._store.scrub() & cached.forget_removed())

    def preview_forget(  # noqa: PLR0913  # those of `forget`, and a query
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
        """Returns what `forget` would remove, or what a question may mean, and removes nothing.

        A search is never certain, so `forget` takes no query. Look at the preview, then pass the
        turns that should go: `thread.forget(turns=preview.turns[:1])`. What is beside a turn may
        say the same: ask again when it is gone.

        Args:
            query: The strongest turn of each hit that `search` finds, best first: at most ten, none
                of them far less likely than the best. Cannot be combined with `turns` and
                `episode`.
            turns: Ids of turns, as for `forget`.
            episode: Id of an episode.
            roles: Turns of these speakers.
            since: Turns at this time or later.
            until: Turns before this time.
            meta: Turns that were added with these names and values.
            min_relevance: Only turns of hits that are at least this likely to hold what was asked,
                however likely the best one is.

        Raises:
            InputError: As for `forget`.
            ThreadMissingError: The thread does not exist.
        """
        if query is None:
            wanted = selection(
                turns=turns, episode=episode, roles=roles, since=since, until=until, meta=meta
            )
        elif turns is None and episode is None:
            hits = self.search(
                query,
                min_relevance=min_relevance,
                roles=roles,
                since=since,
                until=until,
                meta=meta,
            )
            return offer(self.name, near_the_best(hits) if min_relevance is None else hits)
        else:
            raise InputError("a query cannot be combined with turns or episode; pass one of them")
        with self._store.snapshot() as reader:
            self._require(reader)
            return preview(self.name, select(reader, self.name, wanted))

    def warm(self) -> None:
        """Computes what searches need of all turns now, so that the next search need not.

        Raises:
            ThreadMissingError: The thread does not exist.
        """
        with self._asking() as (engine, reader):
            engine.warm(self._host(reader))

    def unload(self) -> bool:
        """Frees the RAM that the thread takes, unless it is in use; returns whether it did.

        The thread is read from the store again when next used.
        """
        with self._lock.if_free() as free:
            if free:
                self._engine = None
        return free

    def _cut_anew(self, threshold: float) -> Episodes:
        least = share("threshold", threshold)
        with self._asking() as (engine, reader):
            begin = {*engine.beginnings(least, self._host(reader))}
            turns = [turn for _, turn in reader.all_turns(self.name)]
        groups: list[list[Turn]] = []
        for turn in turns:
            if turn.id in begin or not groups:
                groups.append([])
            groups[-1].append(turn)
        last = len(groups) - 1
        return Episodes(
            Episode(id=number, turns=tuple(turns), open=number == last)
            for number, turns in enumerate(groups)
        )

    @contextmanager
    def _asking(self) -> Iterator[tuple[Engine, Reader]]:
        """Yields the engine and a reader of the same state of the thread."""
        with self._using(), self._store.snapshot() as reader:
            self._require(reader)
            yield self._current(reader), reader

    @contextmanager
    def _using(self) -> Iterator[None]:
        """Keeps others from using the engine.

        Drops the engine if an exception is raised, since it may be half updated. It is loaded from
        the store again when next needed.
        """
        with self._lock:
            try:
                yield
            except BaseException:
                self._engine = None
                raise
            finally:
                self._residency.used(self, self._engine.size if self._engine else None)
        self._residency.trim()  # after the lock was given back: now others may unload this thread

    def _host(self, reader: Reader, embedder: Embedder | None = None) -> Host:
        return Host(
            embed=(embedder or self._embedder).embed,
            embed_query=self._embedder.embed_query,
            read=lambda episodes: reader.episode_turns(self.name, episodes),
            turns=lambda ids: reader.turns(self.name, ids),
            since=lambda turn: (found for _, found in reader.all_turns(self.name, turn)),
        )

    def _asked(self, query: str) -> Query:
        if not require_text(query).strip():
            raise InputError("the query is empty")
        return Query(text=query)

    def _add(self, turns: Sequence[NewTurn]) -> list[Receipt]:
        embedder = Remembering(self._embedder)
        host = self._host(self._store, embedder)
        with Turns(self._store, self.name) as way:
            called = self._called(self._store, turns)
            while True:
                new = missing(turns, called)
                starts, vectors, said = self._embedded(embedder, [turn.text for turn in new])
                with self._using():
                    # End the snapshot before the engine embeds summaries, which may take a while.
                    with self._store.snapshot() as reader:
                        engine = self._current(reader)
                        called = self._called(reader, turns)
                    require_same(turns, called)
                    if missing(turns, called) != new:
                        continue  # others added or removed one of them meanwhile
                    known = {name: engine.receipt(turn.id) for name, turn in called.items()}
                    if not new:
                        return assign(turns, [], known)
                    changes, added = engine.grow(new, vectors, host, starts=starts, sentences=said)
                    if self._commit(changes, engine.counters, way):
                        return assign(turns, added, known)
                    engine.undo()
                    self._version = (BEHIND, self._version[1])
                way.lost()

    def _embedded(
        self, embedder: Embedder, texts: Sequence[str]
    ) -> tuple[list[Starts] | None, Vectors, Sentences | None]:
        """Returns where the passages of texts begin, if they are divided, and all vectors."""
        if not texts:
            return None, EMPTY.turn_vectors, None
        settings = self._preset.settings
        starts = find_passages(embedder, texts) if settings.divides else None
        if starts and settings.sentences:
            return starts, *embed_turns(embedder, texts, starts)
        return starts, embed_passages(embedder, texts, starts), None

    def _called(self, reader: Reader, turns: Sequence[NewTurn]) -> dict[str, Turn]:
        """Returns the stored turns with the external ids of new ones."""
        ids = {turn.id for turn in turns if turn.id is not None}
        return reader.turns_called(self.name, sorted(ids)) if ids else {}

    def _current(self, reader: Reader) -> Engine:
        """Returns the engine, updated to the reader's state."""
        version = reader.version(self.name)
        if self._engine and version == self._version:
            return self._engine
        if self._engine and version[1] == self._version[1]:
            turn, episode = self._engine.known
            self._engine.catch_up(reader.load_since(self.name, turn=turn, episode=episode))
        else:
            require(self._store.location, reader.settings(), self._settings)
            state = reader.load(self.name)
            settings, dimension = self._preset.settings, self._embedder.dimension
            require_consistent(
                self._store.location, self.name, state, dimension, summarises=settings.summarises
            )
            self._engine = settings.engine(dimension, state)
        self._version = version
        return self._engine

    def _commit(self, changes: Changes, counters: Counters, way: Turns) -> bool:
        """Writes changes, unless another writer changed the thread first, or is in line."""
        written = self._store.commit(
            self.name,
            changes,
            counters,
            expected=self._version[0],
            settings=self._settings,
            ticket=way.ticket,
        )
        if written is None:
            return False
        self._version = written
        way.won()
        return True
