"""Figures as SVG text: data in, a string out, the same bytes every time.

Every figure is 480 units wide, so that it is readable on a phone and two stand side by side on a
desk. It carries a title and a description for those who do not see it, draws text in the colour
around it, and needs nothing from elsewhere.
"""

import math
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape

from scaleqa.systems import colour_of

WIDTH = 480
LETTER = 7.0  # mean width of a character at the size used
MOST_LABEL = 28

# Told apart by people with any kind of colour vision, on white and on near-black; names that are
# likely to meet in a figure are far apart.
PALETTE = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9",
    "#aa4499", "#44aa99", "#999933", "#cc6677", "#7a76c2", "#8c6d46",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A bar with its interval.

    Attributes:
        label: What it stands for.
        value: Its length.
        low: Lower end of the interval, if there is one.
        high: Upper end.
        colour: Its colour.
        mark: Another figure to stand beside it, drawn as a diamond.
    """

    label: str
    value: float
    low: float | None = None
    high: float | None = None
    colour: str = PALETTE[0]
    mark: float | None = None


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """Parts that stand in a row, each as long as its share."""

    label: str
    parts: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """Places along a thread: one row of a strip."""

    label: str
    places: tuple[int, ...]
    colour: str = PALETTE[0]


def colours(names: Iterable[str]) -> dict[str, str]:
    """Gives each system a colour: the one that it declares, others one that is still free."""
    found: dict[str, str] = {}
    declared = {name: colour_of(name) for name in names}
    for name in sorted(declared, key=lambda n: (declared[n] is None, n)):
        start = zlib.crc32(name.encode())
        order = [PALETTE[(start + step) % len(PALETTE)] for step in range(len(PALETTE))]
        free = [colour for colour in order if colour not in found.values()]
        found[name] = declared[name] or (free or order)[0]
    return found


def ink(colour: str) -> str:
    """Black or white, whichever reads better on a colour."""
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return "#000000" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "#ffffff"


def percent(value: float) -> str:
    """Writes a share as per cent."""
    return f"{100 * value:.1f}\u00a0%"


def bars(
    items: Sequence[Bar],
    *,
    title: str,
    description: str,
    most: float = 1.0,
    form: Callable[[float], str] = percent,
    mark_name: str = "",
) -> str:
    """Draws horizontal bars from zero, with intervals and their values.

    Args:
        items: The bars, top to bottom.
        title: What a screen reader says first.
        description: What it says when asked for more.
        most: Right end of the axis.
        form: Writes a value.
        mark_name: What the diamonds are, for the line below.
    """
    left = _label_width([item.label for item in items])
    right = WIDTH - 20 - max((LETTER * len(form(item.value)) for item in items), default=0)
    step, top = 26, 4

    def at(value: float) -> float:
        return left + (right - left) * min(max(value, 0.0), most) / most

    out = _grid([(at(most * tick / 4), form(most * tick / 4)) for tick in range(5)],
                top, top + step * len(items))  # fmt: skip
    for row, item in enumerate(items):
        y = top + step * row
        out += [
            _label(item.label, left - 8, y + 17),
            f'<rect x="{_n(left)}" y="{y + 5}" width="{_n(at(item.value) - left)}" height="16" '
            f'rx="2" fill="{item.colour}"><title>{escape(item.label)}: {form(item.value)}'
            f"{_between(item.low, item.high, form)}</title></rect>",
            _text(form(item.value), WIDTH - 4, y + 17, anchor="end"),
        ]
        if item.low is not None and item.high is not None:
            out.append(_whisker(at(item.low), at(item.high), y + 13))
        if item.mark is not None:
            out.append(_diamond(at(item.mark), y + 13))
    height = top + step * len(items) + 22
    if any(item.mark is not None for item in items):
        out += [_diamond(left + 4, height + 8), _text(mark_name, left + 16, height + 12, size=11)]
        height += 20
    return _svg(height, title, description, out)


def dots(
    items: Sequence[Bar],
    *,
    title: str,
    description: str,
    form: Callable[[float], str] = percent,
) -> str:
    """Draws differences as dots with intervals around a line at zero.

    `mark` of the items is not drawn.
    """
    left = _label_width([item.label for item in items])
    ends = [abs(v) for i in items for v in (i.value, i.low or 0.0, i.high or 0.0)]
    most = _round_up(max([*ends, 0.01]))
    right = WIDTH - 20 - max((LETTER * len(form(item.value)) for item in items), default=0)
    step, top = 26, 4
    bottom = top + step * len(items)

    def at(value: float) -> float:
        return left + (right - left) * (value + most) / (2 * most)

    out = _grid([(at(most * tick / 2), form(most * tick / 2)) for tick in (-2, -1, 0, 1, 2)],
                top, bottom)  # fmt: skip
    out.append(
        f'<line x1="{_n(at(0))}" x2="{_n(at(0))}" y1="{top}" y2="{bottom}" '
        'stroke="currentColor" stroke-width="1.5"/>'
    )
    for row, item in enumerate(items):
        y = top + step * row + 13
        out.append(_label(item.label, left - 8, y + 4))
        if item.low is not None and item.high is not None:
            out.append(_whisker(at(item.low), at(item.high), y))
        out += [
            f'<circle cx="{_n(at(item.value))}" cy="{y}" r="5" fill="{item.colour}">'
            f"<title>{escape(item.label)}: {form(item.value)}"
            f"{_between(item.low, item.high, form)}</title></circle>",
            _text(form(item.value), WIDTH - 4, y + 4, anchor="end"),
        ]
    return _svg(bottom + 22, title, description, out)


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
            f'<line x1="{left}" x2="{right}" y1="{_n(y)}" y2="{_n(y)}" stroke="currentColor" '
            'stroke-opacity=".15"/>',
            _text(
                form(most * tick / 4).replace(".0\u00a0%", "\u00a0%"),
                left - 6,
                y + 4,
                anchor="end",
                size=11,
            ),
        ]
    out += [_text(name, across(x), bottom + 16, anchor="middle", size=11) for x, name in ticks]
    out.append(_text(x_label, (left + right) / 2, bottom + 34, anchor="middle", size=12))
    for number, line in enumerate(series):
        nudge = 2.5 * (number - (len(series) - 1) / 2)
        out += _line(line, number, lambda p, n=nudge: across(p.x) + n, up, form)  # type: ignore[misc]
    legend, height = _legend([(line.label, line.colour) for line in series], bottom + 52, True)
    return _svg(height, title, description, [*out, *legend])


def stacked(
    items: Sequence[Stack],
    parts: Sequence[tuple[str, str]],
    *,
    title: str,
    description: str,
    form: Callable[[float], str] = lambda value: f"{100 * value:.0f}",
) -> str:
    """Draws rows of parts that add up to one.

    Args:
        items: The rows, top to bottom.
        parts: Name and colour of each part, in order.
        title: What a screen reader says first.
        description: What it says when asked for more.
        form: Writes a share inside its part, where there is room.
    """
    left, right, step, top = _label_width([item.label for item in items]), WIDTH - 6.0, 26, 4
    out = []
    for row, item in enumerate(items):
        y, x = top + step * row, float(left)
        out.append(_label(item.label, left - 8, y + 17))
        for (name, colour), share in zip(parts, item.parts, strict=True):
            width = (right - left) * share
            if share > 0:
                out.append(
                    f'<rect x="{_n(x)}" y="{y + 4}" width="{_n(width)}" height="18" '
                    f'fill="{colour}"><title>{escape(item.label)}, {escape(name)}: '
                    f"{percent(share)}</title></rect>"
                )
            if width > LETTER * len(form(share)) + 4:
                middle = x + width / 2
                out.append(_text(form(share), middle, y + 17, anchor="middle", fill=ink(colour)))
            x += width
    legend, height = _legend(parts, top + step * len(items) + 18, False)
    return _svg(height, title, description, [*out, *legend])


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
    left, right, step, top = _label_width([t.label for t in tracks]), WIDTH - 6.0, 18, 4
    bottom = top + step * len(tracks)
    scale = (right - left) / max(length, 1)
    out = []
    if tracks:
        guide = _cells(tracks[0].places, left, right, scale)
        path = "".join(f"M{_n(x)} {top}h{_n(w)}V{bottom}h-{_n(w)}z" for x, w in guide)
        out.append(f'<path d="{path}" fill="{tracks[0].colour}" fill-opacity=".25"/>')
    for row, track in enumerate(tracks):
        y = top + step * row
        cells = _cells(track.places, left, right, scale)
        path = "".join(f"M{_n(x)} {y + 3}h{_n(w)}v12h-{_n(w)}z" for x, w in cells)
        out += [
            _label(track.label, left - 8, y + 13, size=12),
            f'<rect x="{_n(left)}" y="{y + 3}" width="{_n(right - left)}" height="12" '
            'fill="currentColor" fill-opacity=".07"/>',
            f'<path d="{path}" fill="{track.colour}"/>',
        ]
    out.append(_text("0", left, bottom + 13, size=11))
    out.append(_text(f"{length:,}", right, bottom + 13, anchor="end", size=11))
    if divider is not None and 0 < divider < length:
        x = left + divider * scale
        out.append(
            f'<line x1="{_n(x)}" x2="{_n(x)}" y1="{top}" y2="{bottom + 3}" stroke="currentColor" '
            'stroke-dasharray="3 2"/>'
        )
        if left + 24 < x < right - 46:
            out.append(_text(f"{divider:,}", x, bottom + 13, anchor="middle", size=11))
    return _svg(bottom + 18, title, description, out)


def standalone(figure: str, *, ink: str = "#1f2328", paper: str = "#ffffff") -> str:
    """Makes a figure a file of its own, with colours of its own."""
    style = f'style="color:{ink};background:{paper}"'
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n{figure.replace("<svg ", f"<svg {style} ", 1)}\n'
    )


def _svg(height: float, title: str, description: str, parts: Iterable[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {_n(height)}" role="img" '
        f'aria-label="{escape(title)}" font-family="system-ui, sans-serif" font-size="13" '
        f'fill="currentColor"><title>{escape(title)}</title><desc>{escape(description)}</desc>'
        f"{''.join(parts)}</svg>"
    )


def _n(value: float) -> str:
    text = f"{value:.1f}"
    return text.removesuffix(".0")


def _text(
    text: str,
    x: float,
    y: float,
    *,
    anchor: str = "start",
    size: int = 13,
    fill: str = "",
) -> str:
    extra = f' font-size="{size}"' if size != 13 else ""
    extra += f' text-anchor="{anchor}"' if anchor != "start" else ""
    extra += f' fill="{fill}"' if fill else ""
    return f'<text x="{_n(x)}" y="{_n(y)}"{extra}>{escape(text)}</text>'


def _label(text: str, x: float, y: float, size: int = 13) -> str:
    short = text if len(text) <= MOST_LABEL else f"{text[: MOST_LABEL - 1]}…"
    return _text(short, x, y, anchor="end", size=size)


def _label_width(labels: Sequence[str]) -> float:
    longest = max((min(len(label), MOST_LABEL) for label in labels), default=0)
    return 14 + LETTER * longest


def _between(low: float | None, high: float | None, form: Callable[[float], str]) -> str:
    return "" if low is None or high is None else f" ({form(low)} to {form(high)})"


def _whisker(low: float, high: float, y: float) -> str:
    return (
        f'<path d="M{_n(low)} {y - 4}v8M{_n(low)} {y}H{_n(high)}M{_n(high)} {y - 4}v8" '
        'stroke="currentColor" stroke-width="1.5" fill="none"/>'
    )


def _diamond(x: float, y: float) -> str:
    return (
        f'<path d="M{_n(x)} {_n(y - 6)}l5 6l-5 6l-5 -6z" fill="none" stroke="currentColor" '
        'stroke-width="1.5"/>'
    )


def _grid(ticks: Iterable[tuple[float, str]], top: float, bottom: float) -> list[str]:
    out = []
    for x, name in ticks:
        short = name.replace("\u00a0%", "").removesuffix(".0")
        short = "0" if short in ("+0", "-0") else short
        out.append(
            f'<line x1="{_n(x)}" x2="{_n(x)}" y1="{_n(top)}" y2="{_n(bottom)}" '
            'stroke="currentColor" stroke-opacity=".15"/>'
        )
        out.append(_text(short, x, bottom + 15, anchor="middle", size=11))
    return out


def _line(
    line: Line,
    number: int,
    across: Callable[[Point], float],
    up: Callable[[float], float],
    form: Callable[[float], str],
) -> list[str]:
    path = "L".join(f"{_n(across(p))} {_n(up(p.y))}" for p in line.points)
    out = [f'<path d="M{path}" fill="none" stroke="{line.colour}" stroke-width="2"/>']
    for point in line.points:
        x = across(point)
        if point.low is not None and point.high is not None:
            out.append(
                f'<path d="M{_n(x)} {_n(up(point.low))}V{_n(up(point.high))}" fill="none" '
                f'stroke="{line.colour}" stroke-width="1.2"/>'
            )
        said = f"{escape(line.label)}: {form(point.y)}{_between(point.low, point.high, form)}"
        marker = _marker(number, x, up(point.y), line.colour)
        out.append(f"<g><title>{said}</title>{marker}</g>")
    return out


def _marker(number: int, x: float, y: float, colour: str) -> str:
    shapes = (
        "m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z",
        "m-3.2 -3.2h6.4v6.4h-6.4z",
        "m0 -4.4l4.2 7.4h-8.4z",
        "m0 -4.6l4.6 4.6l-4.6 4.6l-4.6 -4.6z",
        "m0 4.4l4.2 -7.4h-8.4z",
        "m-1.3 -4.2h2.6v2.9h2.9v2.6h-2.9v2.9h-2.6v-2.9h-2.9v-2.6h2.9z",
    )
    return f'<path d="M{_n(x)} {_n(y)}{shapes[number % len(shapes)]}" fill="{colour}"/>'


def _legend(parts: Sequence[tuple[str, str]], top: float, markers: bool) -> tuple[list[str], float]:
    out, x, y = [], 14.0, top
    for number, (name, colour) in enumerate(parts):
        width = 30 + LETTER * len(name)
        if x > 14 and x + width > WIDTH:
            x, y = 14.0, y + 19
        square = f'<rect x="{_n(x - 5)}" y="{_n(y - 5)}" width="10" height="10" fill="{colour}"/>'
        out.append(_marker(number, x, y, colour) if markers else square)
        out.append(_text(name, x + 10, y + 4, size=12))
        x += width
    return out, y + 12


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


def _round_up(value: float) -> float:
    """The next of 1, 2, 4, 5, 10 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 4, 5, 10) if step * power >= value * 0.999999)
