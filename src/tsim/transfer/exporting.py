"""Writes a memory as JSON lines."""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from tsim import unfinished
from tsim.codec import sum_to_bytes, vector_to_bytes
from tsim.errors import InputError
from tsim.state import ThreadState
from tsim.store import Reader, Store, require_thread
from tsim.transfer.lines import (
    ClusterLine,
    End,
    EpisodeLine,
    Head,
    PassageLine,
    SentenceLine,
    SpanLine,
    ThreadLine,
    TurnLine,
    Version,
    dump,
    to_text,
)
from tsim.vectors import Vector


def export(store: Store, target: Path | BinaryIO, threads: Sequence[str] | None = None) -> int:
    """Writes a memory as JSON lines; a file is complete or absent, a pipe is written to directly.

    Args:
        store: The memory.
        target: The file, or a stream.
        threads: The threads to write; None for all.

    Returns:
        The number of turns.

    Raises:
        InputError: The file cannot be written.
        StoreError: The memory is damaged.
        ThreadMissingError: One of the threads does not exist.
    """
    if not isinstance(target, Path):
        return _write(store, target, threads)
    try:
        with unfinished.writing(target) as out:
            return _write(store, out, threads)
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror}") from error


def fingerprint(reader: Reader) -> str:
    """Returns the hash of an export of a memory, without its last line."""
    digest = hashlib.sha256()
    for line in _lines(reader, reader.threads()):
        digest.update(dump(line))
    return digest.hexdigest()


def _write(store: Store, out: BinaryIO, threads: Sequence[str] | None) -> int:
    turns = count = 0
    digest = hashlib.sha256()
    with store.snapshot() as reader:
        wanted = reader.threads() if threads is None else sorted({*threads})
        for name in wanted:
            require_thread(store.location, reader, name)
        for line in _lines(reader, wanted):
            text = dump(line)
            out.write(text)
            digest.update(text)
            count += 1
            turns += line["kind"] == "turn"
    out.write(dump(End(lines=count, sha256=digest.hexdigest()).model_dump()))
    return turns


def _lines(reader: Reader, threads: Sequence[str]) -> Iterator[dict[str, Any]]:
    named = any(
        turn.external_id is not None or turn.meta is not None
        for name in threads
        for _, turn in reader.all_turns(name)
    )
    version = max([2 if named else 1, *(_version(reader.load(name)) for name in threads)])
    yield Head(version=version, settings=reader.settings()).model_dump()
    for name in threads:
        state = reader.load(name)
        yield ThreadLine(
            name=name,
            next_turn=state.counters.turn,
            next_episode=state.counters.episode,
            next_cluster=state.counters.cluster,
        ).model_dump()
        for (episode, turn), vector in zip(reader.all_turns(name), state.turn_vectors, strict=True):
            yield TurnLine(
                id=turn.id,
                episode=episode,
                role=turn.role,
                at=turn.at,
                text=turn.text,
                vector=_text(vector),
                external_id=turn.external_id,
                meta=turn.meta,
            ).dump()
        for passage in state.passages:
            yield PassageLine(
                turn=passage.turn, start=passage.start, vector=_text(passage.vector)
            ).model_dump()
        for sentence in state.sentences:
            yield SentenceLine(
                turn=sentence.turn, start=sentence.start, vector=_text(sentence.vector)
            ).model_dump()
        for row in state.episodes:
            yield EpisodeLine(
                id=row.id, vector=None if row.vector is None else _text(row.vector)
            ).model_dump()
        for span in state.spans:
            yield SpanLine(first=span.first, last=span.last, vector=_text(span.vector)).model_dump()
        for cluster in state.clusters:
            yield ClusterLine(
                id=cluster.id,
                members=list(cluster.members),
                total=to_text(sum_to_bytes(cluster.total)),
                vector=_text(cluster.vector),
            ).model_dump()


def _version(state: ThreadState) -> Version:
    """Returns the first version of exports that has all that a thread has."""
    return 3 if state.sentences else 2 if state.passages else 1


def _text(vector: Vector) -> str:
    return to_text(vector_to_bytes(vector))
