"""Assembles ranked episodes into the text of a prompt."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tsim import tokens
from tsim.types import Hit, Turn, ids

MISSING = "…"


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowSettings:
    """How much of an episode is shown.

    Attributes:
        turns: Maximum number of turns of one episode.
        overlap: Number of turns shared by adjacent windows of a longer episode.
    """

    turns: int = 8
    overlap: int = 2


def window(settings: WindowSettings, scores: Sequence[float]) -> tuple[int, int]:
    """Chooses the part of an episode to show.

    An episode with more than `turns` turns is cut into windows of that size, each sharing `overlap`
    turns with the previous one. The window with the highest sum of scores is shown, the earliest in
    case of a tie.

    Args:
        settings: Size and overlap of windows.
        scores: Each turn's similarity with the query.

    Returns:
        The first place, and the place after the last.
    """
    count = len(scores)
    if count <= settings.turns:
        return 0, count
    step = settings.turns - settings.overlap
    starts = [*range(0, count - settings.turns, step), count - settings.turns]
    start = max(starts, key=lambda s: (sum(scores[s : s + settings.turns]), -s))
    return start, start + settings.turns


def words(turns: Sequence[Turn], thread: str = "") -> int:
    """Returns the number of words that turns take up in a context, including the heading."""
    return len(heading(turns, thread).split()) + sum(len(text.split()) for text in _lines(turns))


def heading(turns: Sequence[Turn], thread: str = "") -> str:
    """Returns the heading of some turns in a context: their ids, as one word to save budget.

    Args:
        turns: The turns.
        thread: The name of their thread, where there are several.
    """
    return f"[{' '.join([*thread.split(), ids(turns)])}]"


def line(turn: Turn) -> str:
    """Returns one turn as it appears in a context."""
    return f"{turn.role}: {turn.text}"


def fit(hits: Sequence[Hit], budget: int | None, *, named: bool = False) -> list[Hit]:
    """Takes hits in order, skipping those that do not fit into the budget.

    The first hit is always included: if it is too long, it is shortened to fit.

    Args:
        hits: The hits, best first.
        budget: Maximum number of tokens; None for no limit.
        named: Whether headings name threads.
    """
    if budget is None:
        return list(hits)
    chosen: list[Hit] = []
    left = tokens.words_within(budget)
    for place, hit in enumerate(hits):
        thread = hit.thread if named else ""
        price = words(hit.turns, thread)
        if price > left and place == 0:
            hit = replace(hit, turns=_cut_down(hit, left - len(thread.split())))
            if not hit.turns:  # not even a word of it fits
                continue
            price = words(hit.turns, thread)
        if price <= left:
            chosen.append(hit)
            left -= price
    return chosen


def _cut_down(hit: Hit, most: int) -> tuple[Turn, ...]:
    """Keeps the turns around the strongest one; a single turn that is too long is truncated."""
    strongest = {e.id: e.points for e in hit.why.evidence if e.term == "raw"}
    centre = max(
        range(len(hit.turns)), key=lambda place: (strongest.get(hit.turns[place].id, 0.0), -place)
    )
    first, last = centre, centre
    for _ in hit.turns:  # extend by one turn after and one before, as long as they fit
        for after, before in ((1, 0), (0, 1)):
            low, high = first - before, last + after
            if low >= 0 and high < len(hit.turns) and words(hit.turns[low : high + 1]) <= most:
                first, last = low, high
    turns = hit.turns[first : last + 1]
    if words(turns) <= most:
        return turns
    (turn,) = turns
    empty = replace(turn, text=MISSING)
    kept = turn.text.split()[: max(0, most - words([empty]))]
    short = replace(turn, text=" ".join([*kept, MISSING]))
    return (short,) if words([short]) <= most else ()


def render(hits: Sequence[Hit], *, named: bool = False) -> str:
    """Returns hits as the context of a prompt, in the given order."""
    blocks = [
        "\n".join([heading(hit.turns, hit.thread if named else ""), *_lines(hit.turns)])
        for hit in hits
    ]
    return "\n\n".join(blocks)


def _lines(turns: Sequence[Turn]) -> Iterator[str]:
    """Yields the lines of turns, with a mark wherever turns are missing in between."""
    for place, turn in enumerate(turns):
        if place and turn.id != turns[place - 1].id + 1:
            yield MISSING
        yield line(turn)
