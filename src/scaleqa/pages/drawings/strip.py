"""Places along a thread."""

from collections.abc import Sequence
from dataclasses import dataclass

from scaleqa.pages.drawings.canvas import WIDTH, coord, label, label_width, svg, write
from scaleqa.pages.drawings.colours import PALETTE


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """Places along a thread: one row of a strip."""

    label: str
    places: tuple[int, ...]
    colour: str = PALETTE[0]


def strip(
    tracks: Sequence[Track],
    *,
    length: int,
    divider: int | None = None,
    title: str,
    description: str,
) -> str:
    """Draws places along a thread, a row for each track; the first track's places run through all.

    Args:
        tracks: The rows, top to bottom.
        length: Places in all.
        divider: A place to draw a line at, such as the end of the thread.
        title: What a screen reader says first.
        description: What it says when asked for more.
    """
    left, right, step, top = label_width([t.label for t in tracks]), WIDTH - 6.0, 18, 4
    bottom = top + step * len(tracks)
    scale = (right - left) / max(length, 1)
    out = []
    if tracks:
        guide = _cells(tracks[0].places, left, right, scale)
        path = "".join(f"M{coord(x)} {top}h{coord(w)}V{bottom}h-{coord(w)}z" for x, w in guide)
        out.append(f'<path d="{path}" fill="{tracks[0].colour}" fill-opacity=".25"/>')
    for row, track in enumerate(tracks):
        y = top + step * row
        cells = _cells(track.places, left, right, scale)
        path = "".join(f"M{coord(x)} {y + 3}h{coord(w)}v12h-{coord(w)}z" for x, w in cells)
        out += [
            label(track.label, left - 8, y + 13, size=12),
            f'<rect x="{coord(left)}" y="{y + 3}" width="{coord(right - left)}" height="12" '
            'fill="currentColor" fill-opacity=".07"/>',
            f'<path d="{path}" fill="{track.colour}"/>',
        ]
    out.append(write("0", left, bottom + 13, size=11))
    out.append(write(f"{length:,}", right, bottom + 13, anchor="end", size=11))
    if divider is not None and 0 < divider < length:
        x = left + divider * scale
        out.append(
            f'<line x1="{coord(x)}" x2="{coord(x)}" y1="{top}" y2="{bottom + 3}" '
            'stroke="currentColor" stroke-dasharray="3 2"/>'
        )
        if left + 24 < x < right - 46:
            out.append(write(f"{divider:,}", x, bottom + 13, anchor="middle", size=11))
    return svg(bottom + 18, title, description, out)


def _cells(
    places: Sequence[int], left: float, right: float, scale: float
) -> list[tuple[float, float]]:
    """Joins places that would touch on paper into cells of (start, width), two units at least."""
    cells: list[tuple[float, float]] = []
    for place in sorted(places):
        start = min(left + place * scale, right - 2.0)
        end = start + max(scale, 2.0)
        if cells and start <= sum(cells[-1]) + 0.05:
            cells[-1] = (cells[-1][0], max(end, sum(cells[-1])) - cells[-1][0])
        else:
            cells.append((start, end - start))
    return cells
