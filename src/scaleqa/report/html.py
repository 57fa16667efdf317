"""Small pieces of HTML; everything that comes from data is escaped here."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A cell of a table.

    Attributes:
        text: What it says.
        below: A second line in small print.
        heat: How strongly it is coloured, from 0 to 1; None for not at all.
        colour: A colour shown before the text.
    """

    text: str
    below: str = ""
    heat: float | None = None
    colour: str = ""


Cells = list[Cell | str]


def table(caption: str, heads: Sequence[tuple[str, str]], rows: Iterable[Cells]) -> str:
    """Writes a table whose first column names the rows.

    Args:
        caption: What it shows.
        heads: Each column's name and the signs of the notes that hold for it.
        rows: The cells.
    """
    head = "".join(
        f'<th scope="col">{escape(name)}{f"<sup>{escape(signs)}</sup>" if signs else ""}</th>'
        for name, signs in heads
    )
    body = "".join(f"<tr>{''.join(_cells(row))}</tr>" for row in rows)
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(caption)}"><table>'
        f"<caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def figure(svg: str, caption: str) -> str:
    """Frames a figure."""
    return f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>"


def paragraph(text: str, kind: str = "") -> str:
    """Writes a paragraph."""
    return f"<p{f' class={chr(34)}{kind}{chr(34)}' if kind else ''}>{escape(text)}</p>"


def definitions(items: Iterable[tuple[str, str]]) -> str:
    """Writes a list of names and what they are."""
    inner = "".join(f"<div><dt>{escape(n)}</dt><dd>{escape(v)}</dd></div>" for n, v in items)
    return f"<dl>{inner}</dl>"


def script_json(value: Any) -> str:
    """Writes JSON that may stand inside a script element: nothing in it can end or open one."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _cells(row: Cells) -> Iterable[str]:
    for number, cell in enumerate(row):
        one = cell if isinstance(cell, Cell) else Cell(text=cell)
        tag = 'th scope="row"' if number == 0 else "td"
        style = "" if one.heat is None else f' class="heat" style="--heat:{one.heat:.3f}"'
        dot = f'<i class="dot" style="background:{one.colour}"></i>' if one.colour else ""
        below = f"<small>{escape(one.below)}</small>" if one.below else ""
        yield f"<{tag}{style}>{dot}{escape(one.text)}{below}</{tag[:2]}>"
