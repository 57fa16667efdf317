"""Where everything is in a drawing. Pure: numbers in, coordinates out; templates write the SVG.

Maps and strips are stretched to the width of the page, so they have no text inside.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tsim.braiding import Braid
from tsim.mapping import Block, ThreadMap

WIDTH = 1000.0
# Heights of the blocks of a map, of the profile below them, and the gap between both.
BLOCK, PROFILE, GAP = 52.0, 64.0, 6.0
# A strip of hits: height of the marks, and of the arcs above.
MARK, ARC = 22.0, 34.0
NARROWEST = 2.0
# A braid: distance of turns and of lanes.
STEP, LANE, EDGE = 24.0, 34.0, 22.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A block of a map, and the line of the boundary at its beginning, as high as it is likely."""

    block: Block
    x: str
    width: str
    edge: str
    odd: bool
    woven: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MapDrawing:
    """A map: boxes, the profile of probabilities below, and the line of the threshold."""

    boxes: tuple[Box, ...]
    profile: str
    threshold: str
    height: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Consecutive turns on a strip."""

    x: str
    width: str
    rank: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """Hits along a thread, with arcs from where a topic was to where it resumes."""

    marks: tuple[Mark, ...]
    arcs: tuple[str, ...]
    top: str
    height: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A turn of a braid."""

    turn: int
    x: str
    y: str
    lane: int
    user: bool
    interleaved: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BraidDrawing:
    """Turns in lanes; a path for each reply, with its probability as opacity."""

    nodes: tuple[Node, ...]
    replies: tuple[tuple[str, str, int], ...]
    maybe: tuple[tuple[str, str], ...]
    ticks: tuple[tuple[str, int], ...]
    lanes: tuple[str, ...]
    width: str
    height: str


def map_drawing(drawn: ThreadMap) -> MapDrawing:
    """Lays out a map."""
    scale = WIDTH / max(1, drawn.turns)
    base = BLOCK + GAP + PROFILE
    boxes = []
    for number, block in enumerate(drawn.blocks):
        x = (block.place - drawn.place) * scale
        sure = 1.0 if block.opens is None else block.opens
        edge = f"M{_n(x)} {_n(base)}v{_n(-PROFILE * sure)}" if drawn.profile else ""
        boxes.append(
            Box(
                block=block,
                x=_n(x),
                width=_n(block.turns * scale),
                edge=edge,
                odd=bool(number % 2),
                woven=2 * block.interleaved > block.turns,
            )
        )
    level = drawn.threshold if drawn.threshold is not None else drawn.cut
    return MapDrawing(
        boxes=tuple(boxes),
        profile=_profile(drawn.profile, base),
        threshold="" if level is None or not drawn.profile else _n(base - PROFILE * level),
        height=_n(base if drawn.profile else BLOCK),
    )


def strip(
    spans: Sequence[Iterable[int]],
    resumed: Iterable[tuple[int, int]],
    ends: tuple[int, int],
) -> Strip:
    """Lays out hits along a thread.

    Args:
        spans: The turns of each hit, best first.
        resumed: From which turn to which a topic resumes.
        ends: The first and the last turn of the thread.
    """
    first, last = ends
    scale = WIDTH / max(1, last - first + 1)
    arcs = []
    for old, new in resumed:
        a, b = ((turn - first + 0.5) * scale for turn in (old, new))
        arcs.append(f"M{_n(a)} {_n(ARC)}Q{_n((a + b) / 2)} {_n(-ARC * 0.7)} {_n(b)} {_n(ARC)}")
    marks = [
        Mark(
            x=_n(min((run[0] - first) * scale, WIDTH - NARROWEST)),
            width=_n(max(NARROWEST, len(run) * scale)),
            rank=rank,
        )
        for rank, turns in enumerate(spans, 1)
        for run in _runs(turns)
    ]
    top = ARC if arcs else 2.0
    return Strip(marks=tuple(marks), arcs=tuple(arcs), top=_n(top), height=_n(top + MARK))


def braid_drawing(braid: Braid, users: Mapping[int, bool]) -> BraidDrawing:
    """Lays out a braid.

    Args:
        braid: The braid.
        users: For each turn, whether the user speaks.
    """
    at = {
        strand.turn: (EDGE + STEP * place, EDGE + LANE * strand.lane)
        for place, strand in enumerate(braid.strands)
    }
    replies = [
        (_curve(at[s.replies_to], at[s.turn]), f"{s.probability:.2f}", s.lane)
        for s in braid.strands
        if s.replies_to in at and s.replies_to is not None
    ]
    ticks = [(_n(at[s.turn][0]), s.turn) for s in braid.strands if s.turn % 10 == 0]
    return BraidDrawing(
        nodes=tuple(
            Node(
                turn=s.turn,
                x=_n(at[s.turn][0]),
                y=_n(at[s.turn][1]),
                lane=s.lane,
                user=users.get(s.turn, False),
                interleaved=s.interleaved,
            )
            for s in braid.strands
        ),
        replies=tuple(replies),
        maybe=tuple(
            (_curve(at[one.to], at[one.turn]), f"{one.probability:.2f}") for one in braid.maybe
        ),
        ticks=tuple(ticks),
        lanes=tuple(_n(EDGE + LANE * lane) for lane in range(braid.lanes)),
        width=_n(2 * EDGE + STEP * max(0, len(braid.strands) - 1)),
        height=_n(2 * EDGE + LANE * (braid.lanes - 1) + 14),
    )


def _n(value: float) -> str:
    """Writes a coordinate, to a hundredth."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _profile(values: Sequence[float], base: float) -> str:
    """Returns the outline of bars that stand side by side."""
    if not values:
        return ""
    width = WIDTH / len(values)
    points = "".join(
        f"L{_n(place * width)} {_n(y)}H{_n((place + 1) * width)}"
        for place, y in enumerate(base - PROFILE * value for value in values)
    )
    return f"M0 {_n(base)}{points}V{_n(base)}z"


def _runs(turns: Iterable[int]) -> list[list[int]]:
    """Splits ids into runs of consecutive ones."""
    ids = sorted(turns)
    cuts = [0, *(n for n, (a, b) in enumerate(pairwise(ids), 1) if b != a + 1), len(ids)]
    return [ids[a:b] for a, b in pairwise(cuts)]


def _curve(start: tuple[float, float], end: tuple[float, float]) -> str:
    """Returns a line in a lane, or a curve from one to another."""
    (x0, y0), (x1, y1) = start, end
    if y0 == y1:
        return f"M{_n(x0)} {_n(y0)}H{_n(x1)}"
    middle = (x0 + x1) / 2
    return f"M{_n(x0)} {_n(y0)}C{_n(middle)} {_n(y0)} {_n(middle)} {_n(y1)} {_n(x1)} {_n(y1)}"
