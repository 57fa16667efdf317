"""Consistency checks of a memory."""

from collections import Counter
from dataclasses import dataclass

from tsim.consistency import inconsistencies, parts_outside
from tsim.errors import StoreError
from tsim.store import Accepted, Store
from tsim.store.agreement import differing


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """The result of checking a memory.

    Attributes:
        threads: Number of threads checked.
        turns: Number of turns in them.
        episodes: Number of episodes in them.
        clusters: Number of clusters in them.
        spans: Number of embedded runs of turns in them.
        passages: Number of further passages of long turns in them.
        sentences: Number of sentences in them that are embedded by themselves.
        problems: The problems found.
    """

    threads: int
    turns: int
    episodes: int
    clusters: int
    spans: int = 0
    passages: int = 0
    sentences: int = 0
    problems: tuple[str, ...] = ()


def verify(store: Store, dimension: int, *, settings: Accepted, summarises: bool) -> Verification:
    """Checks the storage of a memory, and the threads in it.

    Args:
        store: The memory.
        dimension: Length of its vectors.
        settings: What its settings may be.
        summarises: Whether closed episodes must have a summary.
    """
    names: list[str] = []
    try:
        problems = [f"{store.location}: {problem}" for problem in store.check()]
        problems += _unexpected(store, {**settings, "dimension": (str(dimension),)})
        # Erasing writes to the file, which must not be done to a damaged one.
        problems = problems or _not_erased(store)
        names = store.threads()
    except StoreError as error:
        problems = [str(error)]
    counts = [0, 0, 0, 0, 0, 0]
    for name in names:
        try:
            with store.snapshot() as reader:
                state = reader.load(name)
                turns = [turn for _, turn in reader.all_turns(name)]
        except StoreError as error:
            problems.append(f"thread {name!r}: {error}")
            continue
        sizes = (
            len(state.turn_ids),
            len(state.episodes),
            len(state.clusters),
            len(state.spans),
            len(state.passages),
            len(state.sentences),
        )
        counts = [count + size for count, size in zip(counts, sizes, strict=True)]
        lengths = {turn.id: len(turn.text) for turn in turns}
        found = [
            *inconsistencies(state, dimension, summarises=summarises),
            *parts_outside(state, lengths),
        ]
        problems += [f"thread {name!r}: {problem}" for problem in dict.fromkeys(found)]
        if lengths.keys() != {*state.turn_ids}:
            problems.append(f"thread {name!r}: turns and vectors do not match")
        named = Counter(turn.external_id for turn in turns if turn.external_id is not None)
        problems += [
            f"thread {name!r}: {count} turns have the external id {one!r}"
            for one, count in sorted(named.items())
            if count > 1
        ]
    return Verification(
        threads=len(names),
        turns=counts[0],
        episodes=counts[1],
        clusters=counts[2],
        spans=counts[3],
        passages=counts[4],
        sentences=counts[5],
        problems=tuple(problems),
    )


def _unexpected(store: Store, expected: Accepted) -> list[str]:
    """Returns the settings that are not what they were when the memory was opened."""
    found = store.settings()
    return [
        f"{store.location}: its {name} is {found.get(name)!r}, expected {expected[name][0]!r}; "
        "its settings are damaged, or it was rebuilt while it was open here"
        for name in differing(found, expected)
        if found
    ]


def _not_erased(store: Store) -> list[str]:
    """Erases what was forgotten, if that is due; returns a problem if it cannot be done."""
    if not store.scrub_due() or (not store.read_only and store.scrub()):
        return []
    what = f"{store.location}: forgotten content may still be recoverable"
    if store.read_only:
        return [f"{what}; verify the memory where it may be written to erase it"]
    return [
        f"{what}, because others are using the memory or the disk is full, or its tables are large "
        "or of another user; verify again when they are done"
    ]
