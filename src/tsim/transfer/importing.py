"""Reads JSON lines into a memory: all of them, or nothing.

An export may be damaged or made by somebody else. It is checked as strictly as turns that are
added and memories that are verified, before anything is written.
"""

import hashlib
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
from pydantic import ValidationError

from tsim.checking import check_name, check_turn
from tsim.codec import sum_from_bytes, vector_from_bytes
from tsim.consistency import inconsistencies, parts_outside
from tsim.errors import InputError, MismatchError
from tsim.state import (
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
from tsim.store import Accepted, Store, Written
from tsim.store.agreement import differing
from tsim.transfer.lines import (
    ANY,
    ROWS,
    AnyLine,
    ClusterLine,
    End,
    EpisodeLine,
    Head,
    PassageLine,
    Row,
    SentenceLine,
    SpanLine,
    ThreadLine,
    TurnLine,
    to_bytes,
)
from tsim.types import NewTurn
from tsim.vectors import Sum, Vector, vector_problem

T = TypeVar("T")

# Bytes of the longest line: a turn of ten million characters that are all escaped.
LONGEST = 1 << 26
NOTHING = "nothing was imported"


@dataclass(slots=True)
class _Section:
    """The lines of one thread."""

    head: ThreadLine
    rows: list[Row] = field(default_factory=list)

    def of(self, kind: type[T]) -> list[T]:
        """Returns the rows of one kind."""
        return [row for row in self.rows if isinstance(row, kind)]


def import_(
    store: Store,
    source: Path | BinaryIO,
    *,
    settings: Accepted,
    dimension: int,
    summarises: bool,
) -> int:
    """Reads an export into a memory with the same model and preset.

    Args:
        store: The memory.
        source: The export, a file or a stream.
        settings: The accepted model and preset of memory and export.
        dimension: Length of the memory's vectors.
        summarises: Whether closed episodes must have a summary.

    Returns:
        The number of turns.

    Raises:
        InputError: The file is not a complete and sound export, or has a thread that already
            exists.
        MismatchError: The export was written with another model or preset.
    """
    path = source if isinstance(source, Path) else _called(source)
    head, sections = _read(source, path)
    for name in differing(head.settings, settings):
        raise MismatchError(
            f"{path} was written with {name} {head.settings.get(name)}, this memory uses "
            f"{settings[name][0]}; open the memory with the {name} of the export, or add its "
            "turns instead"
        )
    threads: dict[str, Written] = {}
    for section in sections:
        try:
            threads[section.head.name] = _gather(section, dimension, summarises)
        except (InputError, ValueError) as error:
            raise InputError(
                f"{path}, thread {section.head.name!r:.80}: {error}; {NOTHING}"
            ) from error
    store.add_threads(threads, settings=settings)
    return sum(len(changes.turns) for changes, _ in threads.values())


def head_of(path: Path) -> Mapping[str, str]:
    """Returns the settings of the memory that an export is of; none if it is no export."""
    try:
        with path.open("rb") as file:
            return Head.model_validate_json(file.readline(LONGEST)).settings
    except (OSError, ValueError):
        return {}


def _read(source: Path | BinaryIO, path: Path | str) -> tuple[Head, list[_Section]]:
    """Reads the lines, which must be whole, unchanged and in order."""
    head: Head | None = None
    current: _Section | None = None
    sections: dict[str, _Section] = {}
    digest = hashlib.sha256()
    lines = _lines(source, path)
    for number, line in enumerate(lines, 1):
        where = f"{path}, line {number}"
        item = _parse(where, line)
        if (head is None) != isinstance(item, Head):
            found = "a second head" if head else f"{item.kind!r} before the head of an export"
            raise InputError(f"{where}: found {found}; {NOTHING}")
        if isinstance(item, Head):
            head = item
        elif isinstance(item, ThreadLine):
            sections[item.name] = current = _Section(head=_named(where, item, sections))
        elif isinstance(item, End):
            if (item.lines, item.sha256) != (number - 1, digest.hexdigest()):
                raise InputError(
                    f"{path} was changed or truncated after it was exported; {NOTHING}; "
                    "export the memory again"
                )
            if next(lines, None) is not None:
                raise InputError(f"{path} goes on after its end, line {number}; {NOTHING}")
            if head is not None:
                return head, [*sections.values()]
        else:
            _append(where, current, item)
        digest.update(line)
    raise InputError(f"{path} is not a complete export of a memory; {NOTHING}")


def _called(stream: BinaryIO) -> str:
    """Returns what messages call a stream; one without a name of its own has a number."""
    name = getattr(stream, "name", None)
    return name if isinstance(name, str) else "the stream"


def _named(where: str, item: ThreadLine, before: Container[str]) -> ThreadLine:
    try:
        check_name(item.name)
    except InputError as error:
        raise InputError(f"{where}: {error}; {NOTHING}") from error
    if item.name in before:
        raise InputError(f"{where}: thread {item.name!r:.80} occurs twice; {NOTHING}")
    return item


def _append(where: str, section: _Section | None, row: Row) -> None:
    if section is None:
        raise InputError(f"{where}: found {row.kind!r} before the first thread; {NOTHING}")
    rows = section.rows
    if rows and ROWS.index(type(row)) < ROWS.index(type(rows[-1])):
        raise InputError(f"{where}: found {row.kind!r} after {rows[-1].kind!r}; {NOTHING}")
    rows.append(row)


def _parse(where: str, line: bytes) -> AnyLine:
    try:
        return ANY.validate_json(line)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(str(part) for part in problem["loc"])
        raise InputError(f"{where}: {problem['msg']:.200} ({place:.80}); {NOTHING}") from error


def _lines(source: Path | BinaryIO, path: Path | str) -> Iterator[bytes]:
    try:
        with source.open("rb") if isinstance(source, Path) else nullcontext(source) as file:
            number = 0
            while line := file.readline(LONGEST + 1):
                number += 1
                yield _encoded(f"{path}, line {number}", line)
    except (OSError, ValueError) as error:  # the latter if it was closed
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path} cannot be read: {reason}") from error


def _encoded(where: str, line: object) -> bytes:
    if not isinstance(line, bytes):
        raise InputError(f"{where}: found text; open the stream in binary mode")
    if len(line) > LONGEST:
        raise InputError(f"{where}: longer than {LONGEST} bytes; {NOTHING}")
    try:
        line.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: not UTF-8 (byte {error.start} of the line)") from error
    return line


def _gather(section: _Section, dimension: int, summarises: bool) -> Written:
    """Returns the content of a thread.

    Raises:
        InputError: It is not sound.
        ValueError: A vector cannot be decoded.
    """
    turns = [_turn(row, dimension) for row in section.of(TurnLine)]
    passages = [
        PassageRow(turn=row.turn, start=row.start, vector=_vector(row, row.vector, dimension))
        for row in section.of(PassageLine)
    ]
    sentences = [
        SentenceRow(turn=row.turn, start=row.start, vector=_vector(row, row.vector, dimension))
        for row in section.of(SentenceLine)
    ]
    episodes = [
        EpisodeRow(
            id=row.id,
            vector=None if row.vector is None else _vector(row, row.vector, dimension),
        )
        for row in section.of(EpisodeLine)
    ]
    spans = [
        SpanRow(first=row.first, last=row.last, vector=_vector(row, row.vector, dimension))
        for row in section.of(SpanLine)
    ]
    clusters = [_cluster(row, dimension) for row in section.of(ClusterLine)]
    _require_ascending("turn", turns, lambda row: row.turn.id)
    _require_ascending("passage", passages, lambda row: (row.turn, row.start))
    _require_ascending("sentence", sentences, lambda row: (row.turn, row.start))
    _require_ascending("episode", episodes, lambda row: row.id)
    _require_ascending("span", spans, lambda row: (row.first, row.last))
    _require_ascending("cluster", clusters, lambda row: row.id)
    for cluster in clusters:
        _require_ascending(f"member of cluster {cluster.id}", cluster.members, lambda one: one)
    _require_named_once(turns)
    counters = Counters(
        turn=section.head.next_turn,
        episode=section.head.next_episode,
        cluster=section.head.next_cluster,
    )
    state = ThreadState(
        version=1,
        epoch=1,
        counters=counters,
        turn_ids=[row.turn.id for row in turns],
        turn_episodes=[row.episode for row in turns],
        turn_vectors=np.array([row.vector for row in turns], dtype=np.float32),
        episodes=episodes,
        clusters=clusters,
        spans=spans,
        passages=passages,
        sentences=sentences,
    )
    lengths = {row.turn.id: len(row.turn.text) for row in turns}
    for problem in (
        *inconsistencies(state, dimension, summarises=summarises),
        *parts_outside(state, lengths),
    ):
        raise InputError(problem)
    changes = Changes(
        turns=tuple(turns),
        passages=tuple(passages),
        sentences=tuple(sentences),
        episodes=tuple(episodes),
        clusters=tuple(clusters),
        rewritten=tuple(row.id for row in clusters),
        spans=tuple(spans),
    )
    return changes, counters


def _turn(row: TurnLine, dimension: int) -> TurnRow:
    given = NewTurn(role=row.role, text=row.text, at=row.at, id=row.external_id, meta=row.meta)
    try:
        checked = check_turn(given)
    except InputError as error:
        raise InputError(f"turn {row.id}: {error}") from error
    return TurnRow(
        turn=checked.numbered(row.id),
        episode=row.episode,
        vector=_vector(row, row.vector, dimension),
    )


def _cluster(row: ClusterLine, dimension: int) -> ClusterRow:
    total: Sum = sum_from_bytes(to_bytes(row.total, 8))
    return ClusterRow(
        id=row.id,
        members=tuple(row.members),
        total=total,
        vector=_vector(row, row.vector, dimension),
    )


def _vector(row: Row, text: str, dimension: int) -> Vector:
    """Decodes the vector of a row, which must have the width of the memory's vectors."""
    names = {
        name: getattr(row, name)
        for name in ("id", "turn", "start", "first", "last")
        if hasattr(row, name)
    }
    what = f"the {row.kind} with {', '.join(f'{name} {value}' for name, value in names.items())}"
    try:
        vector = vector_from_bytes(to_bytes(text, 4))
    except ValueError as error:
        raise InputError(f"{what} has no vector ({error})") from error
    if len(vector) != dimension:
        raise InputError(f"{what} has a vector of {len(vector)} numbers, expected {dimension}")
    problem = vector_problem(vector)
    if problem:
        raise InputError(f"{what} has {problem}, expected length 1")
    return vector


def _require_ascending(what: str, rows: Sequence[T], key: Callable[[T], Any]) -> None:
    """Checks that rows are in the order of their keys, and none is there twice."""
    keys = [key(row) for row in rows]
    for before, after in pairwise(keys):
        if not before < after:
            raise InputError(f"{what} {after} does not follow the one before it, {before}")


def _require_named_once(turns: Iterable[TurnRow]) -> None:
    """Checks that an external id belongs to one turn."""
    named: dict[str, int] = {}
    for row in turns:
        called = row.turn.external_id
        if called is not None and named.setdefault(called, row.turn.id) != row.turn.id:
            raise InputError(
                f"turns {named[called]} and {row.turn.id} have the external id {called!r:.80}"
            )
