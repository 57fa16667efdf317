"""Saves what is whole of a damaged memory file.

Turns whose words are whole are kept with their ids. Everything else is derived from them: vectors
of turns and passages that are whole are kept, others computed again, those of sentences too, and
episodes and runs are made anew. The result is a new file in the place of the damaged one, which is
kept beside it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tsim import unfinished
from tsim.embed import Embedder, open_written
from tsim.embed.checked import CheckedEmbedder
from tsim.errors import InputError
from tsim.presets import AnyPreset, suited, written_with
from tsim.replay import Passage, Replay
from tsim.store import SqliteStore
from tsim.store.sqlite.replacing import replace_damaged, require_unused
from tsim.store.sqlite.salvage import SavedThread, salvage
from tsim.vectors import Vector, vector_problem

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired:
    """What was saved of a damaged memory.

    Attributes:
        damaged: Where the damaged file is now.
        turns: Number of turns that were saved.
        lost: Ids of damaged turns that were not, by thread.
        unread: Whether parts of the file could not be read, or its structure was damaged, so that
            there may have been others.
    """

    damaged: Path
    turns: int
    lost: Mapping[str, tuple[int, ...]]
    unread: bool


def repair(
    path: Path,
    embedder: Embedder | None = None,
    preset: AnyPreset | None = None,
    *,
    progress: Progress | None = None,
) -> Repaired:
    """Replaces a damaged memory file by one with everything that is whole.

    Args:
        path: The file, which nobody else may have open.
        embedder: The model of the memory. Defaults to the known one that the file names.
        preset: Its preset. Defaults to the one that the file names, or `LATE`.
        progress: Called with the number of turns done and the total.

    Raises:
        InputError: There is no such file.
        StoreBusyError: The file is in use.
        StoreError: Nothing can be read from it.
    """
    if not path.is_file():
        raise InputError(f"{path} is not a file; name the memory to repair")
    require_unused(path)
    saved = salvage(path)
    checked = CheckedEmbedder(embedder or open_written(saved.settings.get("model")))
    used = suited(preset or written_with(saved.settings.get("preset")), checked.identity)
    settings = {
        "model": checked.identity,
        "preset": used.fingerprint,
        "dimension": str(checked.dimension),
    }
    same_model = saved.settings.get("model") == checked.identity
    total = sum(len(thread.turns) for thread in saved.threads)
    contents = {}
    done = 0
    for thread in saved.threads:
        again = Replay(used, checked)
        if same_model:
            again.known.update(_known(thread, checked.dimension))
        again.extend(thread.turns, partial(_report, progress, done, total) if progress else None)
        contents[thread.name] = again.whole(thread.next_turn)
        done += len(thread.turns)
    with unfinished.scratch(path.resolve().parent) as scratch:
        mended = scratch / path.name
        store = SqliteStore(mended)
        try:
            store.replace_all(contents, settings, expected={})
        finally:
            store.close()
        damaged = replace_damaged(path.resolve(), mended)
    return Repaired(
        damaged=damaged,
        turns=total,
        lost={thread.name: tuple(thread.lost) for thread in saved.threads if thread.lost},
        unread=saved.unread,
    )


def _known(thread: SavedThread, dimension: int) -> dict[Passage, Vector]:
    """Returns the vectors of passages that are whole, as a replay looks them up."""
    starts: dict[int, list[int]] = {}
    for turn, start in sorted(thread.vectors):
        starts.setdefault(turn, []).append(start)
    found: dict[Passage, Vector] = {}
    for turn, begins in starts.items():
        for start, end in zip(begins, [*begins[1:], None], strict=True):
            vector = thread.vectors[turn, start]
            if len(vector) == dimension and not vector_problem(vector):
                found[turn, start, end] = vector
    return found


def _report(progress: Progress, before: int, total: int, done: int) -> None:
    progress(before + done, total)
