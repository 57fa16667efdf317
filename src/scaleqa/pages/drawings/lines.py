"""Lines with error bars."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from scaleqa.pages.drawings.canvas import WIDTH, between, coord, legend, marker, svg, write
from scaleqa.pages.drawings.colours import PALETTE
from scaleqa.pages.forms import percent


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A point of a line, with the interval of its height if there is one."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line through points, left to right."""

    label: str
    points: tuple[Point, ...]
    colour: str = PALETTE[0]


def lines(
    series: Sequence[Line],
    *,
    title: str,
    description: str,
    x_label: str,
    ticks: Sequence[tuple[float, str]],
    most: float = 1.0,
    form: Callable[[float], str] = percent,
) -> str:
    """Draws lines with error bars over an axis whose places the caller names.

    Args:
        series: The lines; each has a marker of its own as well as its colour.
        title: What a screen reader says first.
        description: What it says when asked for more.
        x_label: What the places are.
        ticks: Places and their names; the first and the last span the axis.
        most: Top of the upright axis, which begins at zero.
        form: Writes a height.
    """
    left, right, top, bottom = 50.0, WIDTH - 16.0, 10.0, 220.0
    first, last = ticks[0][0], ticks[-1][0]

    def across(x: float) -> float:
        inset = 14
        span = right - left - 2 * inset
        return left + inset + (span * (x - first) / (last - first) if last > first else span / 2)

    def up(y: float) -> float:
        return bottom - (bottom - top) * min(max(y, 0.0), most) / most

    out = []
    for tick in range(5):
        y = up(most * tick / 4)
        out += [
            f'<line x1="{left}" x2="{right}" y1="{coord(y)}" y2="{coord(y)}" stroke="currentColor" '
            'stroke-opacity=".15"/>',
            write(
                form(most * tick / 4).replace(".0\u00a0%", "\u00a0%"),
                left - 6,
                y + 4,
                anchor="end",
                size=11,
            ),
        ]
    out += [write(name, across(x), bottom + 16, anchor="middle", size=11) for x, name in ticks]
    out.append(write(x_label, (left + right) / 2, bottom + 34, anchor="middle", size=12))
    for number, line in enumerate(series):
        nudge = 2.5 * (number - (len(series) - 1) / 2)
        places = [(across(point.x) + nudge, point) for point in line.points]
        out += _line(line, number, places, up, form)
    names = [(line.label, line.colour) for line in series]
    listed, height = legend(names, bottom + 52, markers=True)
    return svg(height, title, description, [*out, *listed])


def _line(
    line: Line,
    number: int,
    places: Sequence[tuple[float, Point]],
    up: Callable[[float], float],
    form: Callable[[float], str],
) -> list[str]:
    path = "L".join(f"{coord(x)} {coord(up(point.y))}" for x, point in places)
    out = [f'<path d="M{path}" fill="none" stroke="{line.colour}" stroke-width="2"/>']
    for x, point in places:
        if point.low is not None and point.high is not None:
            out.append(
                f'<path d="M{coord(x)} {coord(up(point.low))}V{coord(up(point.high))}" fill="none" '
                f'stroke="{line.colour}" stroke-width="1.2"/>'
            )
        said = f"{escape(line.label)}: {form(point.y)}{between(point.low, point.high, form)}"
        shape = marker(number, x, up(point.y), line.colour)
        out.append(f"<g><title>{said}</title>{shape}</g>")
    return out
