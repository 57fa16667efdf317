"""What pages list: threads, the blocks of a map, turns."""

from collections.abc import Sequence
from dataclasses import dataclass

from tsim.mapping import Block, ThreadMap
from tsim.memory import Memory
from tsim.thread import Thread
from tsim.types import Turn

# Rows of a page.
THREADS, BLOCKS, TURNS = 50, 40, 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadRow:
    """A thread in the list of threads."""

    name: str
    turns: int
    since: float | None
    until: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockRow:
    """A block in the list of blocks, with its first turn if that is still there."""

    block: Block
    turn: Turn | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """First and last turn of a part of a thread, to link to."""

    first: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Views:
    """Where one can go from a map.

    Attributes:
        here: What the map shows.
        earlier: As many turns before it, if there are any.
        later: As many turns after it.
        wider: Four times as many around it; None if that is the whole thread, or it is that.
        whole: Whether the map shows the whole thread.
    """

    here: Window
    earlier: Window | None
    later: Window | None
    wider: Window | None
    whole: bool


def thread_rows(
    memory: Memory, after: str, limit: int = THREADS
) -> tuple[list[ThreadRow], str | None]:
    """Returns a page of threads, and the name to go on after."""
    names = [name for name in memory.threads() if name > after]
    rows = [_row(memory.thread(name)) for name in names[:limit]]
    return rows, names[limit - 1] if len(names) > limit else None


def block_rows(thread: Thread, drawn: ThreadMap, page: int) -> list[BlockRow]:
    """Returns a page of the blocks of a map."""
    some = drawn.blocks[page * BLOCKS : (page + 1) * BLOCKS]
    firsts = {turn.id: turn for block in some for turn in _turn(thread, block.first)}
    return [BlockRow(block=block, turn=firsts.get(block.first)) for block in some]


def turns_of(thread: Thread, first: int, last: int) -> tuple[list[Turn], int | None]:
    """Returns a page of turns, and the first of the next page."""
    found = [t for t in thread.turns(after=first - 1, limit=TURNS + 1) if t.id <= last]
    return found[:TURNS], found[TURNS].id if len(found) > TURNS else None


def turns_by_id(thread: Thread, ids: Sequence[int]) -> dict[int, Turn]:
    """Returns some turns that are near each other."""
    if not ids:
        return {}
    found = thread.turns(after=min(ids) - 1, limit=max(ids) - min(ids) + 1)
    wanted = {*ids}
    return {turn.id: turn for turn in found if turn.id in wanted}


def views(drawn: ThreadMap, ends: tuple[int, int]) -> Views:
    """Returns where one can go from a map.

    Args:
        drawn: The map.
        ends: The first and the last turn of the thread.
    """
    first, last = ends
    low = drawn.blocks[0].first if drawn.blocks else first
    high = drawn.blocks[-1].last if drawn.blocks else last
    width = high - low + 1
    wider = Window(first=max(first, low - width * 3 // 2), last=min(last, high + width * 3 // 2))
    everything = drawn.turns == drawn.total
    return Views(
        here=Window(first=low, last=high),
        earlier=Window(first=max(first, low - width), last=low - 1) if low > first else None,
        later=Window(first=high + 1, last=min(last, high + width)) if high < last else None,
        wider=None if everything or (wider.first, wider.last) == ends else wider,
        whole=everything,
    )


def _row(thread: Thread) -> ThreadRow:
    first, last = thread.turns(limit=1), thread.recent(1)
    return ThreadRow(
        name=thread.name,
        turns=len(thread),
        since=first[0].at if first else None,
        until=last[0].at if last else None,
    )


def _turn(thread: Thread, turn: int) -> list[Turn]:
    return [one for one in thread.turns(after=turn - 1, limit=1) if one.id == turn]
