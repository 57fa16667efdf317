"""Copies a memory from one store to another: all of it, or nothing."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tsim import unfinished
from tsim.arguments import path as checked_path
from tsim.consistency import inconsistencies, parts_outside
from tsim.errors import InputError, StoreError
from tsim.state import Changes, TurnRow
from tsim.store import Reader, Store, Written, exists, is_address, open_store, shown
from tsim.transfer.exporting import fingerprint

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """What was copied.

    Attributes:
        threads: Number of threads.
        turns: Number of turns.
        sha256: The hash of an export of either memory, without its last line.
    """

    threads: int
    turns: int
    sha256: str


def copy(
    source: str | Path,
    target: str | Path,
    *,
    read_only: bool = False,
    progress: Progress | None = None,
) -> Copied:
    """Copies one state of a memory, while others may use it, to a place that has none yet.

    Both may be files or addresses. The copy is compared with the original by its export. A file is
    complete or absent.

    Args:
        source: The memory.
        target: Where it is copied to; an address may have a memory without threads.
        read_only: Write nothing to the source, not even what an older version lacks.
        progress: Called with the number of turns read and the total.

    Raises:
        InputError: There is no such memory, or there is one at the target.
        StoreError: The memory is damaged, or a store cannot be used.
    """
    if not exists(source):
        raise InputError(f"{shown(source)} does not exist; name the memory to copy")
    with closing(open_store(source, read_only=read_only)) as original, _new(target) as store:
        with original.snapshot() as reader:
            sha256 = fingerprint(reader)
            settings = reader.settings()
            contents = dict(_contents(original.location, reader, progress))
        if not store.replace_all(contents, settings, expected={}):
            raise InputError(
                f"{shown(target)} has threads already; copy to another namespace or file, or "
                "export and import what is missing; nothing was copied"
            )
        with store.snapshot() as reader:
            if fingerprint(reader) != sha256:
                raise StoreError(
                    f"the copy in {shown(target)} differs from {shown(source)}; somebody else may "
                    "have written to it; compare exports of both before you use it"
                )
    turns = sum(len(changes.turns) for changes, _ in contents.values())
    return Copied(threads=len(contents), turns=turns, sha256=sha256)


@contextmanager
def _new(target: str | Path) -> Iterator[Store]:
    """Yields an empty store; a file gets its name when it is complete."""
    if is_address(target):
        with closing(open_store(target)) as store:
            yield store
        return
    path = checked_path("path", target)
    _require_new(path)
    if not path.resolve().parent.is_dir():
        raise InputError(f"{path.parent} is not a directory; create it first")
    with unfinished.scratch(path.resolve().parent) as scratch:
        part = scratch / path.name
        with closing(open_store(part)) as store:
            yield store
        _require_new(path)
        part.replace(path)


def _require_new(path: Path) -> None:
    if path.exists():
        raise InputError(f"{path} exists; name a new file to copy to; nothing was copied")
    unfinished.require_free(path, overwrite=False)


def _contents(
    location: str, reader: Reader, progress: Progress | None
) -> Iterator[tuple[str, Written]]:
    """Reads the whole content of every thread.

    Raises:
        StoreError: A thread does not hold together.
    """
    names = reader.threads()
    total = sum(map(reader.count, names)) if progress else 0
    done = 0
    for name in names:
        state = reader.load(name)
        turns = [turn for _, turn in reader.all_turns(name)]
        lengths = {turn.id: len(turn.text) for turn in turns}
        width = state.turn_vectors.shape[1]
        problems = [
            *inconsistencies(state, width, summarises=False),
            *parts_outside(state, lengths),
            *([] if [*lengths] == state.turn_ids else ["turns and vectors do not match"]),
        ]
        for problem in problems:
            raise StoreError(
                f"{location} is damaged: thread {name!r}: {problem}; nothing was copied; see: tsim "
                "doctor"
            )
        rows = (
            TurnRow(turn=turn, episode=episode, vector=vector)
            for turn, episode, vector in zip(
                turns, state.turn_episodes, state.turn_vectors, strict=True
            )
        )
        changes = Changes(
            turns=tuple(rows),
            passages=tuple(state.passages),
            sentences=tuple(state.sentences),
            episodes=tuple(state.episodes),
            clusters=tuple(state.clusters),
            rewritten=tuple(cluster.id for cluster in state.clusters),
            spans=tuple(state.spans),
        )
        yield name, (changes, state.counters)
        done += len(turns)
        if progress:
            progress(done, total)
