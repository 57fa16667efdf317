"""From ranked episodes to the text an answer model reads."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tsim import tokens
from tsim.types import Hit, Turn

MISSING = "…"


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowSettings:
    """How much of an episode is shown.

    Attributes:
        turns: Most turns of one episode.
        overlap: Turns that neighbouring windows of a longer episode share.
    """

    turns: int = 8
    overlap: int = 2


def window(settings: WindowSettings, scores: Sequence[float]) -> tuple[int, int]:
    """Chooses the part of an episode to show.

    An episode of more turns than the cap is cut into windows of that size, each sharing `overlap`
    turns with the one before; the window whose turns resemble the query most is shown, the earliest
    of equals.

    Args:
        settings: Cap and overlap.
        scores: Each turn's similarity with the query.

    Returns:
        First place and the place after the last.
    """
    count = len(scores)
    if count <= settings.turns:
        return 0, count
    step = settings.turns - settings.overlap
    starts = [*range(0, count - settings.turns, step), count - settings.turns]
    start = max(starts, key=lambda s: (sum(scores[s : s + settings.turns]), -s))
    return start, start + settings.turns


def words(turns: Sequence[Turn]) -> int:
    """Words that turns take in a context, their heading included."""
    return len(heading(0, turns).split()) + sum(len(text.split()) for text in _lines(turns))


def heading(episode: int, turns: Sequence[Turn]) -> str:
    """Names an episode in a context."""
    if not turns:
        return f"[episode {episode}]"
    return f"[episode {episode}, turns {turns[0].id}-{turns[-1].id}]"


def line(turn: Turn) -> str:
    """One turn in a context."""
    return f"{turn.role}: {turn.text}"


def fit(hits: Sequence[Hit], budget: int | None) -> list[Hit]:
    """Takes hits in order while they fit the budget, passing over those that do not.

    The best hit is always there: if it alone is too long, it is cut down to what fits.
    """
    if budget is None:
        return list(hits)
    chosen: list[Hit] = []
    left = tokens.words_within(budget)
    for place, hit in enumerate(hits):
        price = words(hit.turns)
        if price > left and place == 0:
            hit = replace(hit, turns=_cut_down(hit, left))
            price = words(hit.turns)
        if price <= left and hit.turns:
            chosen.append(hit)
            left -= price
    return chosen


def _cut_down(hit: Hit, most: int) -> tuple[Turn, ...]:
    """Keeps the turns around the strongest one; a single too long turn is cut at the end."""
    strongest = {e.id: e.points for e in hit.why.evidence if e.term == "raw"}
    centre = max(
        range(len(hit.turns)), key=lambda place: (strongest.get(hit.turns[place].id, 0.0), -place)
    )
    first, last = centre, centre
    for _ in hit.turns:  # grows by a turn after and a turn before, as long as they fit
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


def render(hits: Sequence[Hit]) -> str:
    """Writes hits as the context of a prompt, in the given order."""
    blocks = ["\n".join([heading(hit.episode, hit.turns), *_lines(hit.turns)]) for hit in hits]
    return "\n\n".join(blocks)


def _lines(turns: Sequence[Turn]) -> Iterator[str]:
    """The lines of turns; where turns between them are missing, a mark says so."""
    for place, turn in enumerate(turns):
        if place and turn.id != turns[place - 1].id + 1:
            yield MISSING
        yield line(turn)
