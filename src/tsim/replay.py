"""Rebuilds threads from their turns, with another preset or model."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from tsim.embed import Embedder, Starts, find_passages
from tsim.engine import Host
from tsim.presets import AnyPreset
from tsim.state import (
    EMPTY,
    MAX_ID,
    Changes,
    ClusterRow,
    EpisodeRow,
    PassageRow,
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

    Args:
        store: The memory.
        preset: The preset to use.
        embedder: The model to use.
        settings: The new settings of the memory.
        same_model: Whether the vectors of turns can be kept.
        progress: Called with the number of turns done and the total.
    """
    while True:
        contents, versions = _replayed(store, preset, embedder, same_model, progress)
        if store.replace_all(contents, settings, expected=versions):
            return  # otherwise a thread has changed since it was read


def _replayed(
    store: Store,
    preset: AnyPreset,
    embedder: Embedder,
    same_model: bool,
    progress: Callable[[int, int], None] | None,
) -> tuple[dict[str, Written], dict[str, int]]:
    """Rebuilds all threads; returns their contents, and the versions they were read at."""
    # Vectors that will be recomputed are not read, since they may be damaged.
    first = 0 if same_model else MAX_ID
    with store.snapshot() as reader:
        states = {
            name: reader.load_since(name, turn=first, episode=first) for name in reader.threads()
        }
        texts = {name: [turn for _, turn in reader.all_turns(name)] for name in states}
    total = sum(len(turns) for turns in texts.values())
    done = 0
    contents = {}
    for name, state in states.items():
        contents[name] = replay(
            preset,
            embedder,
            texts[name],
            next_turn=state.counters.turn,
            known=_vectors(state) if same_model else None,
            progress=partial(_report, progress, done, total) if progress else None,
        )
        done += len(texts[name])
    return contents, {name: state.version for name, state in states.items()}


def _vectors(state: ThreadState) -> dict[Passage, Vector]:
    """Returns the vectors of all passages of a thread.

    The end of a passage is part of its key: the first passage of a turn that was not divided is
    not that of one that was.
    """
    starts: dict[int, list[tuple[int, Vector]]] = {
        turn: [(0, vector)] for turn, vector in zip(state.turn_ids, state.turn_vectors, strict=True)
    }
    for row in state.passages:
        starts[row.turn].append((row.start, row.vector))
    return {
        (turn, start, end): vector
        for turn, parts in starts.items()
        for (start, vector), end in zip(
            parts, [*(start for start, _ in parts[1:]), None], strict=True
        )
    }


def _report(progress: Callable[[int, int], None], before: int, total: int, done: int) -> None:
    progress(before + done, total)


def replay(
    preset: AnyPreset,
    embedder: Embedder,
    turns: Sequence[Turn],
    *,
    next_turn: int,
    known: Mapping[Passage, Vector] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Written:
    """Adds turns to a new engine in order, keeping their ids.

    Args:
        preset: The preset to use.
        embedder: The model to use.
        turns: All turns in order.
        next_turn: The id of the next turn that will be added to the thread.
        known: The vectors of passages, if the model is the same as before.
        progress: Called with the number of turns done.

    Returns:
        The whole content of the thread.
    """
    engine = preset.settings.engine(embedder.dimension, EMPTY)
    rows: list[TurnRow] = []
    passages: list[PassageRow] = []
    episodes: dict[int, EpisodeRow] = {}
    clusters: dict[int, ClusterRow] = {}
    spans: dict[tuple[int, int], SpanRow] = {}

    by_episode: dict[int, list[Turn]] = defaultdict(list)
    host = Host(
        embed=embedder.embed,
        embed_query=embedder.embed_query,
        read=lambda ids: {e: by_episode[e] for e in ids},
        turns=lambda ids: [turn for turn in turns if turn.id in ids],
        since=lambda first: (turn for turn in turns if turn.id >= first),
    )
    for run in _runs(turns):
        engine.skip_to(run[0].id)
        starts, vectors = _embedded(embedder, run, known or {}, divides=preset.settings.divides)
        changes, _ = engine.grow([turn.again() for turn in run], vectors, host, starts=starts)
        rows += changes.turns
        passages += changes.passages
        for row in changes.turns:
            by_episode[row.episode].append(row.turn)
        episodes.update((episode.id, episode) for episode in changes.episodes)
        clusters.update((cluster.id, cluster) for cluster in changes.clusters)
        for gone in changes.removed_clusters:
            clusters.pop(gone, None)
        for key in changes.removed_spans:
            spans.pop(key, None)
        spans.update(((span.first, span.last), span) for span in changes.spans)
        if progress:
            progress(len(rows))
    engine.skip_to(next_turn)
    whole = Changes(
        turns=tuple(rows),
        passages=tuple(passages),
        episodes=tuple(episodes[key] for key in sorted(episodes)),
        clusters=tuple(clusters[key] for key in sorted(clusters)),
        rewritten=tuple(sorted(clusters)),
        spans=tuple(spans[key] for key in sorted(spans)),
    )
    return whole, engine.counters


def _embedded(
    embedder: Embedder, turns: Sequence[Turn], known: Mapping[Passage, Vector], *, divides: bool
) -> tuple[list[Starts], Vectors]:
    """Returns the passages of turns and their vectors, embedding those that are not known."""
    texts = [turn.text for turn in turns]
    starts: list[Starts] = [(0,)] * len(texts)
    if divides:
        starts = find_passages(embedder, texts)
    keys: list[Passage] = [
        (turn.id, start, end)
        for turn, begins in zip(turns, starts, strict=True)
        for start, end in zip(begins, [*begins[1:], None], strict=True)
    ]
    by_id = dict(zip((turn.id for turn in turns), texts, strict=True))
    missing = [key for key in keys if key not in known]
    fresh = embedder.embed([by_id[turn][start:end] for turn, start, end in missing])
    found = dict(zip(missing, fresh, strict=True))
    return starts, np.stack([found[key] if key in found else known[key] for key in keys])


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
