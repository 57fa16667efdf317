"""Horizontal bars from zero."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from scaleqa.pages.drawings.canvas import (
    LETTER,
    WIDTH,
    between,
    coord,
    diamond,
    grid,
    label,
    label_width,
    svg,
    whisker,
    write,
)
from scaleqa.pages.drawings.colours import PALETTE
from scaleqa.pages.forms import percent


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A bar with its interval.

    Attributes:
        label: What it shows.
        value: Its length.
        low: Lower end of the interval, if there is one.
        high: Upper end.
        colour: Its colour.
        mark: Another figure for comparison, drawn as a diamond.
    """

    label: str
    value: float
    low: float | None = None
    high: float | None = None
    colour: str = PALETTE[0]
    mark: float | None = None


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
    left = label_width([item.label for item in items])
    right = WIDTH - 20 - max((LETTER * len(form(item.value)) for item in items), default=0)
    step, top = 26, 4

    def at(value: float) -> float:
        return left + (right - left) * min(max(value, 0.0), most) / most

    out = grid([(at(most * tick / 4), form(most * tick / 4)) for tick in range(5)],
                top, top + step * len(items))  # fmt: skip
    for row, item in enumerate(items):
        y = top + step * row
        out += [
            label(item.label, left - 8, y + 17),
            f'<rect x="{coord(left)}" y="{y + 5}" width="{coord(at(item.value) - left)}" '
            f'height="16" rx="2" fill="{item.colour}">'
            f"<title>{escape(item.label)}: {form(item.value)}"
            f"{between(item.low, item.high, form)}</title></rect>",
            write(form(item.value), WIDTH - 4, y + 17, anchor="end"),
        ]
        if item.low is not None and item.high is not None:
            out.append(whisker(at(item.low), at(item.high), y + 13))
        if item.mark is not None:
            out.append(diamond(at(item.mark), y + 13))
    height = top + step * len(items) + 22
    if any(item.mark is not None for item in items):
        out += [diamond(left + 4, height + 8), write(mark_name, left + 16, height + 12, size=11)]
        height += 20
    return svg(height, title, description, out)
