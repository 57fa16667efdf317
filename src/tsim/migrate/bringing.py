"""Brings what another memory holds into one of ours, once."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from tsim.errors import InputError
from tsim.incoming import Progress, require_same
from tsim.memory import Memory
from tsim.migrate.reading import Migration
from tsim.types import Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Brought:
    """What came over, or would.

    Attributes:
        added: The number of turns that are new to each thread.
        known: The number of turns of each thread that were there already.
    """

    added: Mapping[str, int]
    known: Mapping[str, int]


def compare(migration: Migration, stored: Callable[[str], Iterable[Turn]]) -> Brought:
    """Finds out what would come over.

    Args:
        migration: What another memory holds.
        stored: Returns the turns of a thread; none if it does not exist.

    Raises:
        InputError: A turn is there with another text or speaker.
    """
    known: dict[str, int] = {}
    for name, turns in migration.threads.items():
        called = {one.external_id: one for one in stored(name) if one.external_id is not None}
        try:
            require_same(turns, called)
        except InputError as error:
            raise InputError(f"thread {name}: {error}; nothing was added") from error
        known[name] = sum(turn.id in called for turn in turns)
    added = {name: len(turns) - known[name] for name, turns in migration.threads.items()}
    return Brought(added=added, known=known)


def bring(memory: Memory, migration: Migration, *, progress: Progress | None = None) -> Brought:
    """Adds the turns of a migration that are not there yet.

    Args:
        memory: The memory.
        migration: What another memory holds.
        progress: Called with the number of turns done and the total.

    Raises:
        InputError: A turn is there with another text or speaker; nothing was added.
    """
    there = {*memory.threads()}
    brought = compare(migration, lambda name: memory.thread(name) if name in there else ())
    total, done = sum(map(len, migration.threads.values())), 0
    for name, turns in migration.threads.items():
        memory.thread(name).add_many(turns)
        done += len(turns)
        if progress:
            progress(done, total)
    return brought
