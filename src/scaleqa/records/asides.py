"""Checks of asides: the question must not give away where the fact is."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from scaleqa.records.draw import declaring, is_own
from scaleqa.records.schema import SPLITS, Aside
from scaleqa.records.stems import content

FACT_WORDS = (4, 28)


def problems(asides: Sequence[Aside], declared: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """Checks asides one by one and together.

    Args:
        asides: The asides.
        declared: Cells of one's own, as `split:domain`.

    Yields:
        Pairs of an id and a problem with that aside.
    """
    for aside in asides:
        yield from ((aside.id, problem) for problem in _of_one(aside, declared))
    for aside_id, count in Counter(aside.id for aside in asides).items():
        if count > 1:
            yield aside_id, f"occurs {count} times"
    first: dict[frozenset[str], str] = {}
    for aside in asides:
        other = first.setdefault(frozenset(content(aside.question)), aside.id)
        if other != aside.id:
            yield aside.id, f"asks the same as {other}: their questions have the same content words"


def _of_one(aside: Aside, declared: Collection[str]) -> Iterator[str]:
    if aside.split not in SPLITS and not is_own(aside.cell, declared):
        expected = f"expected one of {', '.join(SPLITS)}; {declaring(aside.cell)}"
        yield f"unknown split {aside.split!r}, {expected}"
    least, most = FACT_WORDS
    length = len(aside.fact.split())
    if not least <= length <= most:
        yield f"the fact has {length} words, expected {least} to {most}"
    (turn,) = aside.evidence_turns
    said = content(turn)
    shared = sorted(said[stem] for stem in {*said} & {*content(aside.question)})
    if shared:
        yield f"question and evidence turn share {', '.join(shared)}"
