"""One conversation in a memory."""

import math
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any

from tsim.assemble import fit, render
from tsim.embed import Embedder
from tsim.embed.protocol import require_text
from tsim.engine import Engine, Query, Tools
from tsim.errors import InputError, TsimError
from tsim.presets import Preset
from tsim.state import MAX_ID, Changes, Counters
from tsim.store import Accepted, Reader, Store
from tsim.store.agreement import require
from tsim.types import Episode, Forgotten, Hit, NewTurn, Receipt, Turn

# Turns written in one transaction by `add_many`: what is acknowledged at a time.
CHUNK = 512
CONTEXT_BUDGET = 1100
MAX_CHARACTERS = 10_000_000
ROLE_LENGTH = 64
ROLE = re.compile(rf"[^\s\x00-\x1f](?:[^\r\n\x00-\x1f]{{0,{ROLE_LENGTH - 2}}}[^\s\x00-\x1f])?")

Progress = Callable[[int, int], None]
TurnLike = NewTurn | tuple[Any, ...] | Mapping[str, Any]


class Thread:
    """A thread of turns; made by `Memory.thread`.

    Safe to use from several threads of a process, and beside other processes on the same memory.
    Calls block; from async code use `await asyncio.to_thread(thread.add, …)`.
    """

    def __init__(
        self,
        name: str,
        store: Store,
        embedder: Embedder,
        preset: Preset,
        settings: Accepted,
    ) -> None:
        """Opens lazily: the thread is read when first used.

        Args:
            name: Its name.
            store: Where it is kept.
            embedder: Makes its vectors.
            preset: The method of remembering.
            settings: What the store must say of model and preset, each with the values that do.
        """
        self.name = name
        self._settings = settings
        self._store = store
        self._embedder = embedder
        self._preset = preset
        self._lock = threading.RLock()
        self._engine: Engine | None = None
        self._version = (0, 0)

    def add(self, role: str, text: str, at: float | datetime | None = None) -> Receipt:
        """Adds a turn, durably; it can be found as soon as this returns.

        Args:
            role: Who speaks: `user`, `model`, or any other name (`system`, `tool`, …).
            text: What is said.
            at: When, where known: seconds since the epoch, or a datetime with a time zone.

        Raises:
            InputError: The turn cannot be kept as it is.
            StoreError: It could not be written; the memory is as before.
        """
        return self.add_many([(role, text, at)])[0]

    def add_many(
        self, turns: Iterable[TurnLike], *, progress: Progress | None = None
    ) -> list[Receipt]:
        """Adds turns, with the same result as adding them one by one, but faster.

        A turn is a `NewTurn`, a tuple (role, text) or (role, text, at), or a mapping with `role`
        and `text` or `content`, as chat APIs have them.

        All turns are checked before the first is written. They are written in chunks; `progress` is
        told how many are durable and how many there are.

        Raises:
            InputError: A turn cannot be kept as it is; nothing was added.
            StoreError: A chunk could not be written; the chunks before it are kept.
        """
        checked = [check_turn(as_turn(turn)) for turn in turns]
        receipts: list[Receipt] = []
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

    def search(self, query: str, *, k: int | None = None, budget: int | None = None) -> list[Hit]:
        """Finds the episodes that bear on a query, best first.

        Args:
            query: An ordinary request or question.
            k: Most episodes to return; the preset's number when not given.
            budget: Most tokens in all; what does not fit is passed over. Presets that pack have a
                budget of their own when none is given.
        """
        _positive(k=k, budget=budget)
        most = self._preset.settings.budget if budget is None else budget
        asked = self._asked(query, k, most)
        with self._asking() as (engine, reader):
            found = engine.search(asked, self._host(reader))
            turns = {
                turn.id: turn
                for turn in reader.turns(self.name, [t for f in found for t in f.turns])
            }
        hits = [
            Hit(
                episode=one.episode,
                turns=tuple(turns[turn] for turn in one.turns if turn in turns),
                score=one.score,
                why=one.why,
            )
            for one in found
        ]
        return fit(hits, most)

    def views(self, query: str) -> Mapping[str, frozenset[int]]:
        """Tells which turns each view leads to, before ranking: for diagnostics."""
        asked = self._asked(query)
        with self._asking() as (engine, reader):
            return engine.views(asked, self._host(reader))

    def context(self, query: str, *, budget: int = CONTEXT_BUDGET) -> str:
        """Writes the episodes that bear on a query as text for a prompt, within the budget."""
        return self.write(self.search(query, budget=budget))

    def write(self, hits: Sequence[Hit]) -> str:
        """Writes hits as text for a prompt, in the preset's order."""
        return render(self._preset.settings.arrange(hits))

    def turns(self) -> list[Turn]:
        """Returns all turns in order."""
        return [turn for _, turn in self._store.all_turns(self.name)]

    def episodes(self, *, threshold: float | None = None) -> list[Episode]:
        """Returns all episodes in order, the open one last.

        Args:
            threshold: Cut anew, wherever a new topic is at least this likely (0 to 1), instead of
                as the turns arrived. Such episodes are numbered from 0 and cannot be forgotten by
                number.

        Raises:
            InputError: The preset has made its cuts for good, or the threshold makes no sense.
        """
        if threshold is not None:
            return self._cut_anew(threshold)
        grouped: dict[int, list[Turn]] = {}
        with self._store.snapshot() as reader:
            for episode, turn in reader.all_turns(self.name):
                grouped.setdefault(episode, []).append(turn)
            still_open = {turn.id for turn in reader.open_turns(self.name)}
        return [
            Episode(id=episode, turns=tuple(turns), open=turns[-1].id in still_open)
            for episode, turns in grouped.items()
        ]

    def forget(self, *, turn: int | None = None, episode: int | None = None) -> Forgotten:
        """Removes a turn, or an episode, so that no trace of its text is left.

        What was derived from it is made anew from what remains; other ids stay as they are.

        Raises:
            InputError: Neither or both were given, or there is no such turn or episode.
        """
        if (turn is None) == (episode is None):
            raise InputError("forget takes either turn=… or episode=…")
        with self._lock, self._or_reread():
            while True:
                with self._store.snapshot() as reader:
                    gone = self._turns_of(reader, turn, episode)
                    engine = self._current(reader)
                changes, forgotten = engine.forget(gone, self._host(self._store))
                # What is left is read anew: rows that moved up score as if they had always been
                # there.
                self._engine = None
                if self._commit(changes, engine.counters):
                    break
        return replace(forgotten, scrubbed=self._store.scrub())

    def _cut_anew(self, threshold: float) -> list[Episode]:
        if not 0 <= threshold <= 1:
            raise InputError(f"threshold={threshold} makes no sense; it is between 0 and 1")
        with self._asking() as (engine, reader):
            begin = {*engine.beginnings(threshold, self._host(reader))}
            turns = [turn for _, turn in reader.all_turns(self.name)]
        groups: list[list[Turn]] = []
        for turn in turns:
            if turn.id in begin or not groups:
                groups.append([])
            groups[-1].append(turn)
        last = len(groups) - 1
        return [
            Episode(id=number, turns=tuple(turns), open=number == last)
            for number, turns in enumerate(groups)
        ]

    @contextmanager
    def _asking(self) -> Iterator[tuple[Engine, Reader]]:
        """Lends the engine for a question, with a reader of the state that it has."""
        with self._lock, self._or_reread(), self._store.snapshot() as reader:
            yield self._current(reader), reader

    @contextmanager
    def _or_reread(self) -> Iterator[None]:
        """Drops the engine if anything is raised, since it may have stopped halfway.

        The store is the truth; the engine is read from it again when next needed.
        """
        try:
            yield
        except BaseException:
            self._engine = None
            raise

    def _host(self, reader: Reader) -> Tools:
        return Tools(
            embed=self._embedder.embed,
            read=lambda episodes: reader.episode_turns(self.name, episodes),
            turns=lambda ids: reader.turns(self.name, ids),
            since=lambda turn: (found for _, found in reader.all_turns(self.name, turn)),
        )

    def _asked(self, query: str, count: int | None = None, budget: int | None = None) -> Query:
        if not require_text(query).strip():
            raise InputError("the query is empty")
        vector = self._embedder.embed_query(query)
        return Query(text=query, vector=vector, count=count, budget=budget)

    def _add(self, turns: Sequence[NewTurn]) -> list[Receipt]:
        vectors = self._embedder.embed([turn.text for turn in turns])
        with self._lock, self._or_reread():
            while True:
                # The snapshot ends before the engine embeds summaries, which may take long.
                with self._store.snapshot() as reader:
                    engine = self._current(reader)
                changes, receipts = engine.grow(turns, vectors, self._host(self._store))
                if self._commit(changes, engine.counters):
                    return receipts
                self._engine = None

    def _current(self, reader: Reader) -> Engine:
        """Returns the engine, brought up to the reader's state."""
        version = reader.version(self.name)
        if self._engine and version == self._version:
            return self._engine
        if self._engine and version[1] == self._version[1]:
            turn, episode = self._engine.known
            self._engine.catch_up(reader.load_since(self.name, turn=turn, episode=episode))
        else:
            require(self._store.location, reader.settings(), self._settings)
            state = reader.load(self.name)
            self._engine = self._preset.settings.engine(self._embedder.dimension, state)
        self._version = version
        return self._engine

    def _commit(self, changes: Changes, counters: Counters) -> bool:
        """Writes changes unless somebody else was faster."""
        written = self._store.commit(
            self.name, changes, counters, expected=self._version[0], settings=self._settings
        )
        if written is None:
            return False
        self._version = written
        return True

    def _turns_of(self, reader: Reader, turn: int | None, episode: int | None) -> list[int]:
        wanted = turn if turn is not None else episode
        what = f"turn {turn}" if turn is not None else f"episode {episode}"
        found: list[Turn] = []
        if wanted is not None and 0 <= wanted <= MAX_ID:
            if turn is not None:
                found = reader.turns(self.name, [wanted])
            else:
                found = reader.episode_turns(self.name, [wanted])[wanted]
        if not found:
            raise InputError(f"there is no {what} in thread {self.name!r}; nothing was removed")
        return [one.id for one in found]


def as_turn(value: TurnLike) -> NewTurn:
    """Reads a turn in any of the forms that `add_many` takes.

    Raises:
        InputError: It is in none of them.
    """
    if isinstance(value, NewTurn):
        return value
    if isinstance(value, Mapping):
        text = value.get("text", value.get("content"))
        role, at = value.get("role"), value.get("at")
    elif isinstance(value, tuple) and len(value) in (2, 3):
        role, text, at = (*value, None)[:3]
    else:
        raise InputError(
            f"expected a turn, found {value!r:.80}; give (role, text), a mapping with role and "
            "text, or a NewTurn"
        )
    if isinstance(at, datetime):
        if at.tzinfo is None:
            raise InputError(f"at={at} has no time zone; add one, for instance timezone.utc")
        at = at.timestamp()
    return NewTurn(role=role, text=text, at=at)  # type: ignore[arg-type]  # checked next


def check_turn(turn: NewTurn) -> NewTurn:
    """Returns a turn that can be kept.

    Raises:
        InputError: It cannot; the message says why.
    """
    if not isinstance(turn.role, str) or not ROLE.fullmatch(turn.role):
        raise InputError(
            f"role {turn.role!r:.80} is not 1 to {ROLE_LENGTH} printable characters without breaks"
        )
    require_text(turn.role)
    if not require_text(turn.text).strip():
        raise InputError(
            f"a {turn.role} turn is empty; a turn needs at least one visible character"
        )
    if len(turn.text) > MAX_CHARACTERS:
        raise InputError(
            f"a {turn.role} turn has {len(turn.text)} characters, more than {MAX_CHARACTERS}; "
            "split it, or keep a reference to the document instead"
        )
    if turn.at is not None and not _is_time(turn.at):
        raise InputError(f"at={turn.at!r} is no time; give seconds since the epoch or leave it out")
    return turn


def _is_time(at: object) -> bool:
    try:
        return isinstance(at, int | float) and math.isfinite(at)
    except OverflowError:
        return False


def _positive(**values: int | None) -> None:
    for name, value in values.items():
        if value is not None and value < 1:
            raise InputError(f"{name}={value} makes no sense; it must be at least 1")
