"""The text of a context.

    [12-15 · 2024-05-03]
    user: The first line of a turn follows its speaker.
     Its other lines begin with a space.
    …
    model: The mark above stands for turns that are left out.

A line that begins in the first column is always ours: a heading, a speaker or a mark. Nothing that
a turn says can be taken for one, because whatever follows a line break in it is moved by one space;
a speaker or a thread whose name could be misread is written in quotes, as JSON. An empty line
separates spans. Where part of a turn is left out, a mark is put in its place.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache

from tsim.types import Hit, Turn, ids

# Tokens of a context, unless its caller says otherwise.
CONTEXT_BUDGET = 1100
MISSING = "…"
# A line that stands for turns that are left out.
MARK = f"{MISSING}\n"
# What any reader may take for the end of a line.
BREAK = re.compile("[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
# The place after it, which is filled faster than the whole is replaced; "\r\n" is one end.
BROKEN = re.compile(f"(?<={BREAK.pattern})(?!(?<=\r)\n)")
SOLID, SPACE = re.compile(r"\S"), re.compile(r"\s+")
WIDEST_INDENTATION = 200
# Speakers whose line could be taken for a heading or a mark, or whose name has no clear end.
UNCLEAR_ROLE = re.compile(f'[\\["{MISSING}]|.*: ')
# Threads whose name has no clear end in a heading, or could be taken for the ids or the date.
UNCLEAR_THREAD = re.compile(r' |.*(?:[\[\]"·…]|  | $)|(?:.* )?[\d–-]+$')


def chronological(hits: Sequence[Hit]) -> list[Hit]:
    """Sorts the hits of a thread by their turns."""
    return sorted(hits, key=lambda hit: [turn.id for turn in hit.turns])


def render(hits: Sequence[Hit], *, named: bool = False) -> str:
    """Returns hits as the context of a prompt, in the given order.

    Args:
        hits: The hits.
        named: Whether headings name the thread: `[alice 12-15 · 2024-05-03]`.
    """
    begun = [f"{first.date()}" if (first := _first_time(hit.turns)) else "" for hit in hits]
    spans_a_day = Counter(begun)
    heads = (
        heading(hit.turns, clock=spans_a_day[day] > 1, thread=hit.thread if named else "")
        for hit, day in zip(hits, begun, strict=True)
    )
    return "\n\n".join(
        "\n".join([head, *lines(hit.turns)]) for head, hit in zip(heads, hits, strict=True)
    )


def heading(turns: Sequence[Turn], *, clock: bool, thread: str = "") -> str:
    """Returns the heading of some turns: their ids, and the days if known, in UTC.

    Args:
        turns: The turns, at least one.
        clock: Whether to add the time of day, because other spans began on the same day.
        thread: The name of the thread, where there are several.
    """
    where = f"{_name(thread)}{ids(turns)}"
    first, last = _first_time(turns), _first_time(turns[::-1])
    if first is None or last is None:
        return f"[{where}]"
    begun = f"{first:%Y-%m-%d %H:%M}" if clock else f"{first.date()}"
    ended = f" – {last.date()}" if last.date() != first.date() else ""
    return f"[{where} · {begun}{ended}]"


def heading_bound(last: int, *, dated: bool, thread: str = "") -> str:
    """Returns a heading, with what separates spans, that is about as long as any of a thread.

    Args:
        last: The highest id of the thread.
        dated: Whether the times of its turns are known.
        thread: The name of the thread, if headings have it.
    """
    return f"[{_name(thread)}{last}-{last}{' · 2024-05-03 14:05' if dated else ''}]\n\n"


def line(turn: Turn) -> str:
    """Returns one turn as it appears in a context."""
    return said(turn.role, excerpt(turn))


def said(role: str, text: str) -> str:
    """Returns what a speaker said as it appears in a context."""
    return f"{_speaker(role)}: {indented(text)}"


def indented(text: str) -> str:
    """Returns a text whose lines, but for the first, begin with a space."""
    # Nothing that ends a line is printable, and that is known sooner.
    return text if text.isprintable() else BROKEN.sub(" ", text)


def excerpt(turn: Turn) -> str:
    """Returns the text of a turn that is shown, with a mark wherever something is left out.

    A mark touches the rest of a word that is cut, has a space between words, and has a line of its
    own between lines. Line breaks and indentation of what is shown are kept.
    """
    if turn.shown is None:
        return turn.text
    text, parts = turn.text, _trimmed(turn.text, turn.shown)
    if not parts:
        return MISSING
    out, end = [], 0
    for first, last in parts:
        if SOLID.search(text, end, first):
            out.append(f"{_after(text, end)}{MISSING}{_before(text, first)}")
        out.append(text[first:last])
        end = last
    if SOLID.search(text, end):
        out.append(f"{_after(text, end)}{MISSING}")
    return "".join(out)


def _trimmed(text: str, shown: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Trims ranges to what is visible and the indentation before it; joins adjacent ones."""
    out: list[tuple[int, int]] = []
    for first, last in shown:
        visible = SOLID.search(text, first, last)
        if not visible:
            continue
        last = visible.start() + len(text[visible.start() : last].rstrip())
        if out and not SOLID.search(text, out[-1][1], first):
            out[-1] = (out[-1][0], last)
            continue
        at = visible.start()
        while text[at - 1 : at].isspace() and not BREAK.fullmatch(text[at - 1]):
            if visible.start() - at == WIDEST_INDENTATION:
                break
            at -= 1
        begins_line = at == 0 or BREAK.fullmatch(text[at - 1])
        out.append((at if begins_line else visible.start(), last))
    return out


def _after(text: str, end: int) -> str:
    """Returns what separates a mark from the text before it, which ends in a visible one."""
    space = SPACE.match(text, end)
    return _separator(space.group() if end and space else "")


def _before(text: str, first: int) -> str:
    """Returns what separates a mark from the text after it."""
    return _separator(text[first - 1])


def _separator(space: str) -> str:
    if BREAK.search(space):
        return "\n"
    return " " if space.isspace() else ""


def lines(turns: Sequence[Turn]) -> Iterator[str]:
    """Yields the lines of turns, with a mark wherever turns are missing in between."""
    for place, turn in enumerate(turns):
        if place and turn.id != turns[place - 1].id + 1:
            yield MISSING
        yield line(turn)


def _name(thread: str) -> str:
    """Returns the name of a thread as headings have it, with a space behind it."""
    if not thread:
        return ""
    return f"{json.dumps(thread) if _unclear(thread, UNCLEAR_THREAD) else thread} "


@lru_cache(maxsize=1 << 10)
def _speaker(role: str) -> str:
    """Returns the name of a speaker as lines have it."""
    return json.dumps(role) if _unclear(role, UNCLEAR_ROLE) else role


def _unclear(name: str, pattern: re.Pattern[str]) -> bool:
    """Whether a name could be misread; what is not printable may be unseen, or break a line."""
    return not name.isprintable() or bool(pattern.match(name))


def _first_time(turns: Sequence[Turn]) -> datetime | None:
    """Returns the first known time of some turns, without those that no calendar has."""
    for turn in turns:
        try:
            if turn.at is not None:
                return datetime.fromtimestamp(turn.at, UTC)
        except (OverflowError, OSError, ValueError):
            continue
    return None
