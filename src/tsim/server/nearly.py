"""What a question nearly found."""

from collections.abc import Collection, Iterable
from dataclasses import replace

from tsim.types import Hit, SpanWhy


def others(hits: Iterable[Hit], seen: Collection[int]) -> list[Hit]:
    """Returns what hits have beside turns that were seen already.

    What is left of a span has no relevance if its strongest turn was seen: the span's relevance is
    mostly that turn's, and says little about the rest.

    Args:
        hits: The hits of a wider search.
        seen: Ids of turns.
    """
    found = (_without(hit, seen) for hit in hits)
    return [hit for hit in found if hit.turns]


def _without(hit: Hit, seen: Collection[int]) -> Hit:
    strongest = hit.why.anchor if isinstance(hit.why, SpanWhy) else None
    return replace(
        hit,
        turns=tuple(turn for turn in hit.turns if turn.id not in seen),
        relevance=None if strongest in seen else hit.relevance,
    )
