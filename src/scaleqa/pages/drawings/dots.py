"""Differences around a line at zero."""

import math
from collections.abc import Callable, Sequence
from html import escape

from scaleqa.pages.drawings.bars import Bar
from scaleqa.pages.drawings.canvas import (
    LETTER,
    WIDTH,
    between,
    coord,
    grid,
    label,
    label_width,
    svg,
    whisker,
    write,
)
from scaleqa.pages.forms import percent


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
    left = label_width([item.label for item in items])
    ends = [abs(v) for i in items for v in (i.value, i.low or 0.0, i.high or 0.0)]
    most = _round_up(max([*ends, 0.01]))
    right = WIDTH - 20 - max((LETTER * len(form(item.value)) for item in items), default=0)
    step, top = 26, 4
    bottom = top + step * len(items)

    def at(value: float) -> float:
        return left + (right - left) * (value + most) / (2 * most)

    out = grid([(at(most * tick / 2), form(most * tick / 2)) for tick in (-2, -1, 0, 1, 2)],
                top, bottom)  # fmt: skip
    out.append(
        f'<line x1="{coord(at(0))}" x2="{coord(at(0))}" y1="{top}" y2="{bottom}" '
        'stroke="currentColor" stroke-width="1.5"/>'
    )
    for row, item in enumerate(items):
        y = top + step * row + 13
        out.append(label(item.label, left - 8, y + 4))
        if item.low is not None and item.high is not None:
            out.append(whisker(at(item.low), at(item.high), y))
        out += [
            f'<circle cx="{coord(at(item.value))}" cy="{y}" r="5" fill="{item.colour}">'
            f"<title>{escape(item.label)}: {form(item.value)}"
            f"{between(item.low, item.high, form)}</title></circle>",
            write(form(item.value), WIDTH - 4, y + 4, anchor="end"),
        ]
    return svg(bottom + 22, title, description, out)


def _round_up(value: float) -> float:
    """The next of 1, 2, 4, 5, 10 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 4, 5, 10) if step * power >= value * 0.999999)
