"""What all drawings share: the frame, text, axes, markers.

Every drawing is 480 units wide, so that it is readable on a phone and two fit side by side on a
desk. It carries a title and a description for those who do not see it, draws text in the colour
around it, and needs nothing from elsewhere. The same data gives the same bytes.
"""

from collections.abc import Callable, Iterable, Sequence
from html import escape

WIDTH = 480
LETTER = 7.0  # mean width of a character at the size used
WIDE_LETTER = 7.9  # the same in the widest fonts that browsers fall back to
MOST_LABEL = 28


def svg(height: float, title: str, description: str, parts: Iterable[str]) -> str:
    """Frames the parts of a drawing."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {coord(height)}" role="img" '
        f'aria-label="{escape(title)}" font-family="system-ui, sans-serif" font-size="13" '
        f'fill="currentColor"><title>{escape(title)}</title><desc>{escape(description)}</desc>'
        f"{''.join(parts)}</svg>"
    )


def standalone(figure: str, *, ink: str = "#1f2328", paper: str = "#ffffff") -> str:
    """Makes a figure a file of its own, with colours of its own."""
    style = f'style="color:{ink};background:{paper}"'
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n{figure.replace("<svg ", f"<svg {style} ", 1)}\n'
    )


def coord(value: float) -> str:
    """Writes a coordinate, to a tenth."""
    text = f"{value:.1f}"
    return text.removesuffix(".0")


def write(
    text: str,
    x: float,
    y: float,
    *,
    anchor: str = "start",
    size: int = 13,
    fill: str = "",
) -> str:
    """Writes text at a place."""
    extra = f' font-size="{size}"' if size != 13 else ""
    extra += f' text-anchor="{anchor}"' if anchor != "start" else ""
    extra += f' fill="{fill}"' if fill else ""
    return f'<text x="{coord(x)}" y="{coord(y)}"{extra}>{escape(text)}</text>'


def label(text: str, x: float, y: float, size: int = 13) -> str:
    """Writes the name of a row, ending at a place; what is too long is cut."""
    short = text if len(text) <= MOST_LABEL else f"{text[: MOST_LABEL - 1]}…"
    return write(short, x, y, anchor="end", size=size)


def label_width(labels: Sequence[str]) -> float:
    """The room that the names of rows take."""
    longest = max((min(len(label), MOST_LABEL) for label in labels), default=0)
    return 14 + WIDE_LETTER * longest


def between(low: float | None, high: float | None, form: Callable[[float], str]) -> str:
    """Writes an interval in brackets, if there is one."""
    return "" if low is None or high is None else f" ({form(low)} to {form(high)})"


def whisker(low: float, high: float, y: float) -> str:
    """Draws an interval across a bar."""
    return (
        f'<path d="M{coord(low)} {y - 4}v8M{coord(low)} {y}H{coord(high)}M{coord(high)} {y - 4}v8" '
        'stroke="currentColor" stroke-width="1.5" fill="none"/>'
    )


def diamond(x: float, y: float) -> str:
    """Draws the mark of another figure."""
    return (
        f'<path d="M{coord(x)} {coord(y - 6)}l5 6l-5 6l-5 -6z" fill="none" stroke="currentColor" '
        'stroke-width="1.5"/>'
    )


def grid(ticks: Iterable[tuple[float, str]], top: float, bottom: float) -> list[str]:
    """Draws upright lines with their names below."""
    out = []
    for x, name in ticks:
        short = name.replace("\u00a0%", "").removesuffix(".0")
        short = "0" if short in ("+0", "-0") else short
        out.append(
            f'<line x1="{coord(x)}" x2="{coord(x)}" y1="{coord(top)}" y2="{coord(bottom)}" '
            'stroke="currentColor" stroke-opacity=".15"/>'
        )
        out.append(write(short, x, bottom + 15, anchor="middle", size=11))
    return out


def marker(number: int, x: float, y: float, colour: str) -> str:
    """Draws the point of a line; the first six lines have points of different shapes."""
    shapes = (
        "m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z",
        "m-3.2 -3.2h6.4v6.4h-6.4z",
        "m0 -4.4l4.2 7.4h-8.4z",
        "m0 -4.6l4.6 4.6l-4.6 4.6l-4.6 -4.6z",
        "m0 4.4l4.2 -7.4h-8.4z",
        "m-1.3 -4.2h2.6v2.9h2.9v2.6h-2.9v2.9h-2.6v-2.9h-2.9v-2.6h2.9z",
    )
    return f'<path d="M{coord(x)} {coord(y)}{shapes[number % len(shapes)]}" fill="{colour}"/>'


def legend(
    parts: Sequence[tuple[str, str]], top: float, *, markers: bool
) -> tuple[list[str], float]:
    """Lists names with their colours; returns it and how far down it reaches."""
    out, x, y = [], 14.0, top
    for number, (name, colour) in enumerate(parts):
        width = 30 + LETTER * len(name)
        if x > 14 and x + width > WIDTH:
            x, y = 14.0, y + 19
        square = (
            f'<rect x="{coord(x - 5)}" y="{coord(y - 5)}" width="10" height="10" fill="{colour}"/>'
        )
        out.append(marker(number, x, y, colour) if markers else square)
        out.append(write(name, x + 10, y + 4, size=12))
        x += width
    return out, y + 12
