"""Which turns to forget."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from tsim.errors import InputError
from tsim.excerpt import excerpt
from tsim.selection import Selection
from tsim.state import MAX_ID
from tsim.store import Reader
from tsim.types import ForgetPreview, Hit, SpanWhy, Term, Turn

# Turns that a question is answered with at most, and how many times less likely than the best one
# they may be: few enough to read them all before any is removed.
OFFERED = 10
FAINT = 10


def select(reader: Reader, thread: str, wanted: Selection) -> Iterator[Turn]:
    """Yields the turns that are selected, in order.

    Raises:
        InputError: There is no such turn or episode.
    """
    for turn in _named(reader, thread, wanted):
        if wanted.only.passes(turn):
            yield turn


def _named(reader: Reader, thread: str, wanted: Selection) -> Iterable[Turn]:
    if wanted.turns is not None:
        ids = [turn for turn in wanted.turns if 0 <= turn <= MAX_ID]
        found = reader.turns(thread, ids)
        missing = {*wanted.turns} - {turn.id for turn in found}
        if missing:
            raise _missing(thread, f"turn {min(missing)}")
        return found
    if wanted.episode is None:
        return (turn for _, turn in reader.all_turns(thread))
    known = [wanted.episode] if 0 <= wanted.episode <= MAX_ID else []
    found = reader.episode_turns(thread, known).get(wanted.episode, [])
    if not found:
        raise _missing(thread, f"episode {wanted.episode}")
    return found


def preview(thread: str, turns: Iterable[Turn]) -> ForgetPreview:
    """Describes turns that would be forgotten."""
    found = [(turn.id, f"{turn.role}: {excerpt(turn.text)}") for turn in turns]
    return ForgetPreview(
        thread=thread,
        turns=tuple(turn for turn, _ in found),
        lines=tuple(line for _, line in found),
    )


def offer(thread: str, hits: Sequence[Hit]) -> ForgetPreview:
    """Describes the turns that a question may mean: the strongest of each hit, best first."""
    some = hits[:OFFERED]
    likely = [hit.relevance for hit in some if hit.relevance is not None]
    return replace(
        preview(thread, map(_strongest, some)),
        relevances=tuple(likely) if likely and len(likely) == len(some) else None,
    )


def near_the_best(hits: Sequence[Hit]) -> list[Hit]:
    """Returns the hits that are not far less likely than the first."""
    return [hit for hit in hits if hit is hits[0] or hit.score * FAINT >= hits[0].score]


def _strongest(hit: Hit) -> Turn:
    """Returns the turn for which a hit was chosen; the first if it was not chosen for one."""
    if isinstance(hit.why, SpanWhy):
        best = [hit.why.anchor]
    else:
        raw = [one for one in hit.why.evidence if one.term is Term.RAW]
        best = [one.id for one in sorted(raw, key=lambda one: (-one.points, one.id))]
    shown = {turn.id: turn for turn in hit.turns}
    return next((shown[turn] for turn in best if turn in shown), hit.turns[0])


def _missing(thread: str, what: str) -> InputError:
    return InputError(f"there is no {what} in thread {thread!r}; nothing was removed")
