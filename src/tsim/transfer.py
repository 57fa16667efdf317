"""Export and import of a memory as JSON lines; equal content is exported as equal bytes.

Version 2 has external ids, meta and passages. A memory without them is exported as version 1, which
earlier versions of this package can import.
"""

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal, TypeAlias

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from tsim import unfinished
from tsim.checking import check_id, check_meta
from tsim.codec import sum_from_bytes, sum_to_bytes, vector_from_bytes, vector_to_bytes
from tsim.errors import InputError, MismatchError
from tsim.state import (
    MAX_ID,
    Changes,
    ClusterRow,
    Counters,
    EpisodeRow,
    PassageRow,
    SpanRow,
    TurnRow,
)
from tsim.store import Accepted, Reader, Store, Written, require_thread
from tsim.store.agreement import differing
from tsim.types import Meta, Turn
from tsim.vectors import Vector

Id = Annotated[int, Field(ge=0, le=MAX_ID)]
NextId = Annotated[int, Field(ge=0, le=MAX_ID + 1)]


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class _Head(_Line):
    kind: Literal["memory"] = "memory"
    format: Literal["tsim-memory"] = "tsim-memory"
    version: Literal[1, 2]
    settings: dict[str, str]


class _Thread(_Line):
    kind: Literal["thread"] = "thread"
    name: str
    next_turn: NextId
    next_episode: NextId
    next_cluster: NextId


class _Turn(_Line):
    kind: Literal["turn"] = "turn"
    id: Id
    episode: Id
    role: str
    at: float | None
    text: str
    vector: str
    external_id: str | None = None
    meta: Meta | None = None

    def dump(self) -> dict[str, Any]:
        """Returns the line, without an id and meta that the turn does not have."""
        absent = {name for name in ("external_id", "meta") if getattr(self, name) is None}
        return self.model_dump(exclude=absent)


class _Passage(_Line):
    kind: Literal["passage"] = "passage"
    turn: Id
    start: int
    vector: str


class _Episode(_Line):
    kind: Literal["episode"] = "episode"
    id: Id
    vector: str | None


class _End(_Line):
    """The last line; an export without it is truncated."""

    kind: Literal["end"] = "end"
    lines: int
    sha256: str


class _Cluster(_Line):
    kind: Literal["cluster"] = "cluster"
    id: Id
    members: list[Id]
    total: str
    vector: str


class _Span(_Line):
    kind: Literal["span"] = "span"
    first: Id
    last: Id
    vector: str


_Row: TypeAlias = _Turn | _Passage | _Episode | _Span | _Cluster
_Item: TypeAlias = _Head | _Thread | _Row | _End
_ANY: TypeAdapter[_Item] = TypeAdapter(Annotated[_Item, Field(discriminator="kind")])


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
        ThreadMissingError: One of the threads does not exist.
    """
    if not isinstance(target, Path):
        return _write(store, target, threads)
    try:
        with unfinished.writing(target) as out:
            return _write(store, out, threads)
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror}") from error


def _write(store: Store, out: BinaryIO, threads: Sequence[str] | None) -> int:
    turns = count = 0
    digest = hashlib.sha256()
    with store.snapshot() as reader:
        wanted = reader.threads() if threads is None else sorted({*threads})
        for name in wanted:
            require_thread(store.location, reader, name)
        for line in _lines(reader, wanted):
            text = _dump(line)
            out.write(text)
            digest.update(text)
            count += 1
            turns += line["kind"] == "turn"
    out.write(_dump(_End(lines=count, sha256=digest.hexdigest()).model_dump()))
    return turns


def import_(store: Store, source: Path | BinaryIO, *, settings: Accepted) -> int:
    """Reads an export into a memory with the same model and preset.

    Args:
        store: The memory.
        source: The export, a file or a stream.
        settings: The accepted model and preset of memory and export.

    Returns:
        The number of turns.

    Raises:
        InputError: The file is not a complete export, or has a thread that already exists.
        MismatchError: The export was written with another model or preset.
    """
    threads = _read(source, settings)
    store.add_threads(threads, settings=settings)
    return sum(len(changes.turns) for changes, _ in threads.values())


def _lines(reader: Reader, threads: Sequence[str]) -> Iterator[dict[str, Any]]:
    named = any(
        turn.external_id is not None or turn.meta is not None
        for name in threads
        for _, turn in reader.all_turns(name)
    )
    divided = any(reader.load(name).passages for name in threads)
    yield _Head(version=2 if named or divided else 1, settings=reader.settings()).model_dump()
    for name in threads:
        state = reader.load(name)
        yield _Thread(
            name=name,
            next_turn=state.counters.turn,
            next_episode=state.counters.episode,
            next_cluster=state.counters.cluster,
        ).model_dump()
        for (episode, turn), vector in zip(reader.all_turns(name), state.turn_vectors, strict=True):
            yield _Turn(
                id=turn.id,
                episode=episode,
                role=turn.role,
                at=turn.at,
                text=turn.text,
                vector=_text(vector_to_bytes(vector)),
                external_id=turn.external_id,
                meta=turn.meta,
            ).dump()
        for passage in state.passages:
            yield _Passage(
                turn=passage.turn,
                start=passage.start,
                vector=_text(vector_to_bytes(passage.vector)),
            ).model_dump()
        for row in state.episodes:
            vector_text = None if row.vector is None else _text(vector_to_bytes(row.vector))
            yield _Episode(id=row.id, vector=vector_text).model_dump()
        for span in state.spans:
            yield _Span(
                first=span.first, last=span.last, vector=_text(vector_to_bytes(span.vector))
            ).model_dump()
        for cluster in state.clusters:
            yield _Cluster(
                id=cluster.id,
                members=list(cluster.members),
                total=_text(sum_to_bytes(cluster.total)),
                vector=_text(vector_to_bytes(cluster.vector)),
            ).model_dump()


def _dump(line: dict[str, Any]) -> bytes:
    return (json.dumps(line, ensure_ascii=False, sort_keys=True) + "\n").encode()


def _read(source: Path | BinaryIO, settings: Accepted) -> dict[str, Written]:
    path = source if isinstance(source, Path) else str(getattr(source, "name", "the stream"))
    threads: dict[str, tuple[_Thread, list[_Row]]] = {}
    head: _Head | None = None
    end: _End | None = None
    current = ""
    digest = hashlib.sha256()
    for number, line in enumerate(_text_lines(source, path), 1):
        item = _parse(path, number, line)
        if isinstance(item, _End):
            end = item
            if (item.lines, item.sha256) != (number - 1, digest.hexdigest()):
                raise InputError(
                    f"{path} was changed or truncated after it was exported; nothing was imported; "
                    "export the memory again"
                )
            continue
        digest.update(line.encode())
        if isinstance(item, _Head):
            head = item
        elif isinstance(item, _Thread):
            current = item.name
            threads[current] = (item, [])
        elif current:
            threads[current][1].append(item)
    if head is None or end is None:
        raise InputError(f"{path} is not a complete export of a memory; nothing was imported")
    for name in differing(head.settings, settings):
        raise MismatchError(
            f"{path} was written with {name} {head.settings.get(name)}, this memory uses "
            f"{settings[name][0]}; open the memory with the {name} of the export, or add its "
            "turns instead"
        )
    return {name: _gather(path, thread, rows) for name, (thread, rows) in threads.items()}


def _parse(path: Path | str, number: int, line: str) -> _Item:
    try:
        return _ANY.validate_json(line)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in problem["loc"])
        raise InputError(
            f"{path}, line {number}: {problem['msg']} ({where}); nothing was imported"
        ) from error


def _text_lines(source: Path | BinaryIO, path: Path | str) -> Iterator[str]:
    try:
        with source.open("rb") if isinstance(source, Path) else nullcontext(source) as file:
            for number, line in enumerate(file, 1):
                try:
                    yield line.decode()
                except UnicodeDecodeError as error:
                    raise InputError(
                        f"{path}, line {number}: not UTF-8 (byte {error.start} of the line)"
                    ) from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error


def _gather(path: Path | str, thread: _Thread, rows: list[_Row]) -> Written:
    clusters = [row for row in rows if isinstance(row, _Cluster)]
    turns = tuple(
        _turns(f"{path}, thread {thread.name!r}", (row for row in rows if isinstance(row, _Turn)))
    )
    where = f"{path}, thread {thread.name!r}"
    spans = (row for row in rows if isinstance(row, _Span))
    passages = (row for row in rows if isinstance(row, _Passage))
    changes = Changes(
        turns=turns,
        passages=tuple(_passages(where, passages, turns)),
        episodes=tuple(
            EpisodeRow(
                id=row.id,
                vector=None if row.vector is None else vector_from_bytes(_bytes(row.vector)),
            )
            for row in rows
            if isinstance(row, _Episode)
        ),
        clusters=tuple(
            ClusterRow(
                id=row.id,
                members=tuple(row.members),
                total=sum_from_bytes(_bytes(row.total)),
                vector=vector_from_bytes(_bytes(row.vector)),
            )
            for row in clusters
        ),
        rewritten=tuple(row.id for row in clusters),
        spans=tuple(_spans(where, spans, turns)),
    )
    counters = Counters(
        turn=thread.next_turn, episode=thread.next_episode, cluster=thread.next_cluster
    )
    return changes, counters


def _turns(where: str, rows: Iterable[_Turn]) -> Iterator[TurnRow]:
    """Yields the turns of a thread; an external id belongs to one of them."""
    named: dict[str, int] = {}
    for row in rows:
        called, meta = row.external_id, row.meta
        try:
            called = None if called is None else check_id(called)
            meta = None if meta is None else check_meta(meta)
        except InputError as error:
            raise InputError(f"{where}, turn {row.id}: {error}; nothing was imported") from error
        if called is not None and named.setdefault(called, row.id) != row.id:
            raise InputError(
                f"{where}: turns {named[called]} and {row.id} have the external id {called!r}; "
                "nothing was imported"
            )
        yield TurnRow(
            turn=Turn(
                id=row.id,
                role=row.role,
                text=row.text,
                at=row.at,
                external_id=called,
                meta=meta,
            ),
            episode=row.episode,
            vector=vector_from_bytes(_bytes(row.vector)),
        )


def _spans(where: str, rows: Iterable[_Span], turns: Sequence[TurnRow]) -> Iterator[SpanRow]:
    """Yields the spans of a thread, checked against its turns."""
    width = {row.turn.id: len(row.vector) for row in turns}
    seen: set[tuple[int, int]] = set()
    for row in rows:
        span = f"{where}: the span from turn {row.first} to {row.last}"
        if not (row.first < row.last and {row.first, row.last} <= width.keys()):
            raise InputError(
                f"{span} does not run from one turn of the thread to a later one; "
                "nothing was imported"
            )
        if (row.first, row.last) in seen:
            raise InputError(f"{span} occurs twice; nothing was imported")
        seen.add((row.first, row.last))
        vector = _vector(span, row.vector, width[row.first])
        yield SpanRow(first=row.first, last=row.last, vector=vector)


def _passages(
    where: str, rows: Iterable[_Passage], turns: Sequence[TurnRow]
) -> Iterator[PassageRow]:
    """Yields the passages of a thread, checked against its turns."""
    by_id = {row.turn.id: row for row in turns}
    last = (-1, 0)
    for row in rows:
        passage = f"{where}: the passage of turn {row.turn} at character {row.start}"
        if row.turn not in by_id or not 0 < row.start < len(by_id[row.turn].turn.text):
            raise InputError(f"{passage} is not inside a turn of the thread; nothing was imported")
        if (row.turn, row.start) <= last:
            raise InputError(f"{passage} does not follow the one before it; nothing was imported")
        last = (row.turn, row.start)
        vector = _vector(passage, row.vector, len(by_id[row.turn].vector))
        yield PassageRow(turn=row.turn, start=row.start, vector=vector)


def _vector(what: str, text: str, width: int) -> Vector:
    """Decodes the vector of something, which must have the width of the turns' vectors."""
    try:
        vector = vector_from_bytes(_bytes(text))
    except ValueError as error:
        raise InputError(f"{what} has no vector ({error}); nothing was imported") from error
    if len(vector) != width or not np.isfinite(vector).all():
        raise InputError(
            f"{what} has a vector of {len(vector)} numbers, expected {width} finite ones; nothing "
            "was imported"
        )
    return vector


def _text(blob: bytes) -> str:
    return base64.b64encode(blob).decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text)
