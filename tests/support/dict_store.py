"""A store that keeps everything in dictionaries: the least that passes the suite of all stores."""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

import numpy as np

from tsim.errors import InputError, StoreError
from tsim.state import (
    EMPTY,
    MAX_ID,
    Changes,
    ClusterRow,
    Counters,
    EpisodeRow,
    PassageRow,
    SentenceRow,
    SpanRow,
    ThreadState,
    TurnRow,
)
from tsim.store import Accepted, CurrentReads, Reader, Written
from tsim.store.agreement import require
from tsim.store.nearest import Near, nearest
from tsim.types import Turn
from tsim.vectors import Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptThread:
    version: int
    epoch: int
    counters: Counters
    turns: Mapping[int, TurnRow] = field(default_factory=dict)
    episodes: Mapping[int, EpisodeRow] = field(default_factory=dict)
    clusters: Mapping[int, ClusterRow] = field(default_factory=dict)
    spans: Mapping[tuple[int, int], SpanRow] = field(default_factory=dict)
    passages: Mapping[tuple[int, int], PassageRow] = field(default_factory=dict)
    sentences: Mapping[tuple[int, int], SentenceRow] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """One state of a memory. It never changes, so a snapshot is a reference to it."""

    settings: Mapping[str, str] = field(default_factory=dict)
    threads: Mapping[str, KeptThread] = field(default_factory=dict)
    clock: int = 0
    scrub_due: bool = False

    def written(self, name: str, changes: Changes, counters: Counters) -> "Kept":
        now = self.clock + 1
        nothing = KeptThread(version=now, epoch=now, counters=counters)
        before = self.threads.get(name, nothing)
        kept = (row.turn for key, row in before.turns.items() if key not in changes.removed_turns)
        called = [t.external_id for t in (*kept, *(row.turn for row in changes.turns))]
        named = [name for name in called if name is not None]
        if len({*named}) < len(named):
            raise StoreError(f"thread {name!r} would have two turns with the same external id")
        after = KeptThread(
            version=now,
            epoch=now if changes.removes else before.epoch,
            counters=counters,
            turns=_merged(
                before.turns, {row.turn.id: row for row in changes.turns}, changes.removed_turns
            ),
            episodes=_merged(
                before.episodes, {row.id: row for row in changes.episodes}, changes.removed_episodes
            ),
            clusters=_merged(
                before.clusters, {row.id: row for row in changes.clusters}, changes.removed_clusters
            ),
            spans=_merged(
                before.spans,
                {(row.first, row.last): row for row in changes.spans},
                changes.removed_spans,
            ),
            sentences=_merged(
                before.sentences,
                {(row.turn, row.start): row for row in changes.sentences},
                [key for key in before.sentences if key[0] in changes.removed_turns],
            ),
            passages=_merged(
                before.passages,
                {(row.turn, row.start): row for row in changes.passages},
                [key for key in before.passages if key[0] in changes.removed_turns],
            ),
        )
        return replace(
            self,
            threads={**self.threads, name: after},
            clock=now,
            scrub_due=self.scrub_due or changes.removes,
        )

    def without(self, name: str) -> "Kept":
        rest = {other: thread for other, thread in self.threads.items() if other != name}
        return replace(self, threads=rest)


def _merged(before, new, removed):
    gone = {*removed}
    rows = {key: row for key, row in before.items() if key not in gone} | new
    return {key: rows[key] for key in sorted(rows)}


class DictReader:
    def __init__(self, kept: Kept) -> None:
        self._kept = kept

    def settings(self) -> dict[str, str]:
        return dict(sorted(self._kept.settings.items()))

    def threads(self) -> list[str]:
        return sorted(self._kept.threads)

    def version(self, thread: str) -> tuple[int, int]:
        found = self._kept.threads.get(thread)
        return (found.version, found.epoch) if found else (0, 0)

    def load(self, thread: str) -> ThreadState:
        return self.load_since(thread, turn=0, episode=0)

    def load_since(self, thread: str, *, turn: int, episode: int) -> ThreadState:
        found = self._kept.threads.get(thread)
        if found is None:
            return EMPTY
        rows = [row for number, row in found.turns.items() if number >= turn]
        vectors = [row.vector for row in rows]
        oldest = [0, 0, *(number for number in found.turns if number < turn)][-2]
        return ThreadState(
            version=found.version,
            epoch=found.epoch,
            counters=found.counters,
            turn_ids=[row.turn.id for row in rows],
            turn_episodes=[row.episode for row in rows],
            turn_vectors=np.array(vectors) if vectors else EMPTY.turn_vectors,
            episodes=[row for number, row in found.episodes.items() if number >= episode],
            clusters=list(found.clusters.values()),
            open_turns=self.open_turns(thread),
            spans=[row for row in found.spans.values() if row.last >= oldest and turn != MAX_ID],
            passages=[row for row in found.passages.values() if row.turn >= turn],
            sentences=[row for row in found.sentences.values() if row.turn >= turn],
        )

    def episode_turns(self, thread: str, episodes: Sequence[int]) -> dict[int, list[Turn]]:
        found: dict[int, list[Turn]] = {episode: [] for episode in episodes}
        for episode, turn in self.all_turns(thread):
            if episode in found:
                found[episode].append(turn)
        return found

    def turns(self, thread: str, ids: Sequence[int]) -> list[Turn]:
        wanted = {*ids}
        return [turn for _, turn in self.all_turns(thread) if turn.id in wanted]

    def turns_called(self, thread: str, external_ids: Sequence[str]) -> dict[str, Turn]:
        wanted = {*external_ids}
        return {t.external_id: t for _, t in self.all_turns(thread) if t.external_id in wanted}

    def open_turns(self, thread: str) -> list[Turn]:
        found = self._kept.threads.get(thread)
        newest = found.episodes.get(found.counters.episode - 1) if found else None
        if newest is None or newest.vector is not None:
            return []
        return self.episode_turns(thread, [newest.id])[newest.id]

    def count(self, thread: str) -> int:
        found = self._kept.threads.get(thread)
        return len(found.turns) if found else 0

    def last_turns(self, thread: str, limit: int) -> list[Turn]:
        return [turn for _, turn in self.all_turns(thread)][-limit:]

    def all_turns(
        self, thread: str, first: int = 0, limit: int | None = None
    ) -> Iterator[tuple[int, Turn]]:
        found = self._kept.threads.get(thread)
        rows = (row for row in (found.turns.values() if found else ()) if row.turn.id >= first)
        yield from ((row.episode, row.turn) for row in islice(rows, limit))

    def nearest(self, thread: str, query: Vector, limit: int) -> list[Near]:
        found = self._kept.threads.get(thread)
        rows = [
            *((row.turn.id, row.vector) for row in (found.turns.values() if found else ())),
            *((row.turn, row.vector) for row in (found.passages.values() if found else ())),
        ]
        return nearest([([turn for turn, _ in rows], np.array([v for _, v in rows]))], query, limit)


class Shelf:
    """What outlives the stores that are opened on it."""

    def __init__(self) -> None:
        self.kept = Kept()
        self.lock = threading.RLock()
        self.line: dict[int, tuple[str | None, float]] = {}
        self.tickets = 0

    def admits(self, thread: str | None, ticket: int | None, now: float) -> bool:
        """Whether nobody with an earlier ticket wants to write to the same threads."""
        return not any(
            (ticket is None or other < ticket) and until > now
            for other, (wanted, until) in self.line.items()
            if None in (wanted, thread) or wanted == thread
        )


SHELVES: dict[Path, Shelf] = {}


class DictStore(CurrentReads):
    """Opened twice with the same path, it holds the same threads, as long as the process lives."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._shelf = SHELVES.setdefault(path, Shelf())
        self.closed = False

    @property
    def location(self) -> str:
        return f"dictionary {self._path.name}"

    @contextmanager
    def snapshot(self) -> Iterator[Reader]:
        if self.closed:
            raise StoreError(f"{self.location} is closed; open it again")
        yield DictReader(self._shelf.kept)

    def note(self, settings: Mapping[str, str]) -> None:
        with self._shelf.lock:
            kept = self._shelf.kept
            self._shelf.kept = replace(kept, settings={**settings, **kept.settings})

    def commit(
        self,
        thread: str,
        changes: Changes,
        counters: Counters,
        *,
        expected: int,
        settings: Accepted,
        ticket: int | None = None,
    ) -> tuple[int, int] | None:
        with self._shelf.lock:
            require(self.location, self._shelf.kept.settings, settings)
            if self.version(thread)[0] != expected:
                return None
            if not self._shelf.admits(thread, ticket, time.time()):
                return None
            self._shelf.line.pop(ticket, None)
            self._shelf.kept = self._shelf.kept.written(thread, changes, counters)
            return self.version(thread)

    def add_threads(self, threads: Mapping[str, Written], *, settings: Accepted) -> None:
        with self._shelf.lock:
            kept = self._shelf.kept
            require(self.location, kept.settings, settings)
            for name, (changes, counters) in threads.items():
                if name in kept.threads:
                    raise InputError(f"{self.location} has thread {name!r} already")
                kept = kept.written(name, changes, counters)
            self._shelf.kept = kept

    def replace_all(
        self,
        threads: Mapping[str, Written],
        settings: Mapping[str, str],
        *,
        expected: Mapping[str, int],
        ticket: int | None = None,
    ) -> bool:
        with self._shelf.lock:
            kept = self._shelf.kept
            if {name: thread.version for name, thread in kept.threads.items()} != expected:
                return False
            if not self._shelf.admits(None, ticket, time.time()):
                return False
            self._shelf.line.pop(ticket, None)
            kept = replace(kept, threads={}, settings=settings)
            for name, (changes, counters) in threads.items():
                kept = kept.written(name, changes, counters)
            self._shelf.kept = kept
            return True

    def line_up(self, thread: str | None, *, seconds: float) -> int:
        with self._shelf.lock:
            self._shelf.tickets += 1
            self._shelf.line[self._shelf.tickets] = thread, time.time() + seconds
            return self._shelf.tickets

    def first_in_line(self, ticket: int, *, seconds: float) -> bool:
        with self._shelf.lock:
            now = time.time()
            if ticket not in self._shelf.line:
                return True
            thread, _ = self._shelf.line[ticket]
            self._shelf.line[ticket] = thread, now + seconds
            return self._shelf.admits(thread, ticket, now)

    def leave_line(self, ticket: int) -> None:
        with self._shelf.lock:
            self._shelf.line.pop(ticket, None)

    def remove(self, thread: str) -> bool:
        with self._shelf.lock:
            there = thread in self._shelf.kept.threads
            if there:
                self._shelf.kept = replace(self._shelf.kept.without(thread), scrub_due=True)
            return there

    def scrub(self) -> bool:
        with self._shelf.lock:
            self._shelf.kept = replace(self._shelf.kept, scrub_due=False)
            return True

    def scrub_due(self) -> bool:
        return self._shelf.kept.scrub_due

    def check(self) -> list[str]:
        return []

    def close(self) -> None:
        self.closed = True
