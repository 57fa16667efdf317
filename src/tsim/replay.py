"""Rebuilds threads from their turns, with another preset or model."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from tsim.contention import Remembering, Turns
from tsim.embed import Embedder, Sentences, Starts, ends, find_passages, find_sentences
from tsim.engine import Host, Settings
from tsim.presets import AnyPreset
from tsim.state import (
    EMPTY,
    MAX_ID,
    Changes,
    ClusterRow,
    EpisodeRow,
    PassageRow,
    SentenceRow,
    SpanRow,
    ThreadState,
    TurnRow,
)
from tsim.store import Store, Written
from tsim.types import Turn
from tsim.vectors import Vector, Vectors

CHUNK = 512
# A turn, and the characters of one of its passages: the first, and the one after the last, or None
# at the end of the turn.
Passage: TypeAlias = tuple[int, int, int | None]


@dataclass(slots=True, kw_only=True, eq=False)
class _Work:
    """A thread that is being made again: the state that it was read at, and how far it is."""

    version: int
    epoch: int
    next_turn: int
    replay: "Replay"
    unread: list[Turn]


def rebuild(
    store: Store,
    preset: AnyPreset,
    embedder: Embedder,
    *,
    settings: Mapping[str, str],
    same_model: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Recomputes all vectors and episodes of a memory, including turns added meanwhile.

    If others write meanwhile, only what they changed is done again.

    Args:
        store: The memory.
        preset: The preset to use.
        embedder: The model to use.
        settings: The new settings of the memory.
        same_model: Whether the vectors of turns can be kept.
        progress: Called with the number of turns done and the total.
    """
    embedder = Remembering(embedder)
    work: dict[str, _Work] = {}
    with Turns(store, None) as way:
        while True:
            _read(store, preset, embedder, work, same_model=same_model)
            total = sum(len(one.replay) + len(one.unread) for one in work.values())
            done = total - sum(len(one.unread) for one in work.values())
            for one in work.values():
                report = partial(_report, progress, done, total) if progress else None
                one.replay.extend(one.unread, report)
                done += len(one.unread)
                one.unread = []
            contents = {name: one.replay.whole(one.next_turn) for name, one in work.items()}
            versions = {name: one.version for name, one in work.items()}
            if store.replace_all(contents, settings, expected=versions, ticket=way.ticket):
                way.won()
                return
            way.lost()


def _read(
    store: Store,
    preset: AnyPreset,
    embedder: Embedder,
    work: dict[str, _Work],
    *,
    same_model: bool,
) -> None:
    """Reads the turns that were not read yet; a thread of which something was removed, anew."""
    # Vectors that will be recomputed are not read, since they may be damaged.
    everything = 0 if same_model else MAX_ID
    with store.snapshot() as reader:
        for gone in {*work} - {*reader.threads()}:
            del work[gone]
        for name in reader.threads():
            version, epoch = reader.version(name)
            known = work.get(name)
            if known and known.version == version:
                continue
            added = known is not None and known.epoch == epoch
            first = known.next_turn if known and added else 0
            state = reader.load_since(name, turn=max(first, everything), episode=MAX_ID)
            replay = known.replay if known and added else Replay(preset, embedder)
            if same_model:
                replay.known.update(passage_vectors(state))
            work[name] = _Work(
                version=version,
                epoch=epoch,
                next_turn=state.counters.turn,
                replay=replay,
                unread=[turn for _, turn in reader.all_turns(name, first)],
            )


def passage_vectors(state: ThreadState) -> dict[Passage, Vector]:
    """Returns the vectors of all passages and sentences of a thread.

    The end of a passage is part of its key: the first passage of a turn that was not divided is
    not that of one that was, nor its first sentence.
    """
    passages: dict[int, dict[int, Vector]] = {
        turn: {0: vector} for turn, vector in zip(state.turn_ids, state.turn_vectors, strict=True)
    }
    sentences: dict[int, dict[int, Vector]] = {}
    for row in state.passages:
        passages[row.turn][row.start] = row.vector
    for said in state.sentences:
        sentences.setdefault(said.turn, {})[said.start] = said.vector
    found: dict[Passage, Vector] = {}
    for turn, parts in passages.items():
        divided = tuple(parts)
        for some in (parts, sentences.get(turn, {})):
            starts = tuple(some)
            others = () if some is parts else divided
            for start, end in zip(starts, ends(others, starts), strict=True):
                found[turn, start, end] = some[start]
    return found


def _report(progress: Callable[[int, int], None], before: int, total: int, done: int) -> None:
    progress(before + done, total)


class Replay:
    """A thread that is made again from its turns, which keep their ids.

    Attributes:
        known: Vectors of passages that need not be computed.
        engine: The thread as the preset has it.
        host: What the engine may call: it reads the turns that were added.
    """

    def __init__(self, preset: AnyPreset, embedder: Embedder) -> None:
        """Begins without turns.

        Args:
            preset: The preset to use.
            embedder: The model to use.
        """
        self.known: dict[Passage, Vector] = {}
        self._embedder = embedder
        self._settings = preset.settings
        self.engine = preset.settings.engine(embedder.dimension, EMPTY)
        self._rows: list[TurnRow] = []
        self._passages: list[PassageRow] = []
        self._sentences: list[SentenceRow] = []
        self._episodes: dict[int, EpisodeRow] = {}
        self._clusters: dict[int, ClusterRow] = {}
        self._spans: dict[tuple[int, int], SpanRow] = {}
        self._turns: dict[int, Turn] = {}  # ascending
        self._by_episode: dict[int, list[Turn]] = defaultdict(list)
        self.host = Host(
            embed=embedder.embed,
            embed_query=embedder.embed_query,
            read=lambda ids: {episode: self._by_episode[episode] for episode in ids},
            turns=lambda ids: [self._turns[turn] for turn in sorted(ids)],
            since=lambda first: (turn for turn in self._turns.values() if turn.id >= first),
        )

    def __len__(self) -> int:
        return len(self._rows)

    def extend(self, turns: Sequence[Turn], progress: Callable[[int], None] | None = None) -> None:
        """Adds further turns in order.

        Args:
            turns: The turns.
            progress: Called with the number of them that are done.
        """
        self._turns.update((turn.id, turn) for turn in turns)
        before = len(self._rows)
        for run in _runs(turns):
            self.engine.skip_to(run[0].id)
            starts, vectors, said = _embedded(self._embedder, run, self.known, self._settings)
            new = [turn.again() for turn in run]
            changes, _ = self.engine.grow(new, vectors, self.host, starts=starts, sentences=said)
            self._note(changes)
            if progress:
                progress(len(self._rows) - before)

    def whole(self, next_turn: int) -> Written:
        """Returns the whole content of the thread.

        Args:
            next_turn: The id of the next turn that will be added to it.
        """
        self.engine.skip_to(next_turn)
        changes = Changes(
            turns=tuple(self._rows),
            passages=tuple(self._passages),
            sentences=tuple(self._sentences),
            episodes=tuple(self._episodes[key] for key in sorted(self._episodes)),
            clusters=tuple(self._clusters[key] for key in sorted(self._clusters)),
            rewritten=tuple(sorted(self._clusters)),
            spans=tuple(self._spans[key] for key in sorted(self._spans)),
        )
        return changes, self.engine.counters

    def _note(self, changes: Changes) -> None:
        self._rows += changes.turns
        self._passages += changes.passages
        self._sentences += changes.sentences
        for row in changes.turns:
            self._by_episode[row.episode].append(row.turn)
        self._episodes.update((episode.id, episode) for episode in changes.episodes)
        self._clusters.update((cluster.id, cluster) for cluster in changes.clusters)
        for gone in changes.removed_clusters:
            self._clusters.pop(gone, None)
        for key in changes.removed_spans:
            self._spans.pop(key, None)
        self._spans.update(((span.first, span.last), span) for span in changes.spans)


def _embedded(
    embedder: Embedder, turns: Sequence[Turn], known: Mapping[Passage, Vector], settings: Settings
) -> tuple[list[Starts], Vectors, Sentences | None]:
    """Returns the passages and sentences of turns, embedding those that are not known."""
    texts = [turn.text for turn in turns]
    starts: list[Starts] = [(0,)] * len(texts)
    if settings.divides:
        starts = find_passages(embedder, texts)
    said = find_sentences(texts, starts) if settings.sentences else [()] * len(texts)

    def keys(begins: Sequence[Starts], others: Sequence[Starts]) -> list[Passage]:
        return [
            (turn.id, start, end)
            for turn, own, divided in zip(turns, begins, others, strict=True)
            for start, end in zip(own, ends(divided, own), strict=True)
        ]

    by_id = dict(zip((turn.id for turn in turns), texts, strict=True))
    passages, parts = keys(starts, starts), keys(said, starts)
    some = {(turn, start, end): by_id[turn][start:end] for turn, start, end in passages}
    some |= {(turn, start, end): by_id[turn][start:end].strip() for turn, start, end in parts}
    missing = [key for key in some if key not in known]
    fresh = embedder.embed([some[key] for key in missing]) if missing else ()
    found = dict(zip(missing, fresh, strict=True))

    def rows(keys: Sequence[Passage]) -> Vectors:
        vectors = [found[key] if key in found else known[key] for key in keys]
        return np.array(vectors, dtype=np.float32).reshape(len(keys), embedder.dimension)

    sentences = Sentences(starts=said, vectors=rows(parts)) if settings.sentences else None
    return starts, rows(passages), sentences


def _runs(turns: Sequence[Turn]) -> Iterable[list[Turn]]:
    """Splits turns into runs of consecutive ids, of bounded length."""
    run: list[Turn] = []
    for turn in turns:
        if run and (turn.id != run[-1].id + 1 or len(run) == CHUNK):
            yield run
            run = []
        run.append(turn)
    if run:
        yield run
