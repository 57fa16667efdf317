"""Parts that add up to one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from scaleqa.pages.drawings.canvas import (
    LETTER,
    WIDTH,
    coord,
    label,
    label_width,
    legend,
    svg,
    write,
)
from scaleqa.pages.drawings.colours import ink
from scaleqa.pages.forms import percent


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """Parts in a row, each as long as its share."""

    label: str
    parts: tuple[float, ...]


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
    left, right, step, top = label_width([item.label for item in items]), WIDTH - 6.0, 26, 4
    out = []
    for row, item in enumerate(items):
        y, x = top + step * row, float(left)
        out.append(label(item.label, left - 8, y + 17))
        for (name, colour), share in zip(parts, item.parts, strict=True):
            width = (right - left) * share
            if share > 0:
                out.append(
                    f'<rect x="{coord(x)}" y="{y + 4}" width="{coord(width)}" height="18" '
                    f'fill="{colour}"><title>{escape(item.label)}, {escape(name)}: '
                    f"{percent(share)}</title></rect>"
                )
            if width > LETTER * len(form(share)) + 4:
                middle = x + width / 2
                out.append(write(form(share), middle, y + 17, anchor="middle", fill=ink(colour)))
            x += width
    listed, height = legend(parts, top + step * len(items) + 18, markers=False)
    return svg(height, title, description, [*out, *listed])
