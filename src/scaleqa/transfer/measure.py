"""Systems on threads of one question each: how much evidence, at what cost, against the first."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from scaleqa.evaluate import Diagnosis, diagnose
from scaleqa.packages import Package
from scaleqa.stats import Difference, Interval, mcnemar, paired_bootstrap, wilson
from tsim.embed import Embedder

SEED = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Questions whose evidence is all in the context, of how many, with Wilson's interval."""

    found: int
    questions: int
    recall: float
    interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """A system less the first one, on the same questions.

    Attributes:
        difference: Of recall in context, with its paired interval.
        mcnemar_p: Exact two-sided p-value.
    """

    difference: Difference
    mcnemar_p: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A system over all threads.

    Attributes:
        system: Its name and options.
        in_context: All evidence in the context.
        by_type: The same, for each type of question.
        against: The difference to the first system; None for that one.
        diagnosis: Everything else.
    """

    system: str
    in_context: Share
    by_type: Mapping[str, Share]
    against: Against | None
    diagnosis: Diagnosis = field(repr=False)


def measure(
    packages: Sequence[Package],
    spec: str,
    embedder: Embedder,
    *,
    first: Measured | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Measured:
    """Feeds each thread to a fresh system and asks its question, without writing back."""
    found = diagnose(packages, spec, embedder, progress=progress)
    hits = {result.id: result.in_context for result in found.results}
    types: dict[str, list[bool]] = {}
    for package in packages:
        for query in package.queries:
            types.setdefault(query.domain, []).append(hits[query.id])
    return Measured(
        system=spec,
        in_context=_share(list(hits.values())),
        by_type={name: _share(types[name]) for name in sorted(types)},
        against=_against(hits, first.diagnosis) if first else None,
        diagnosis=found,
    )


def _share(hits: Sequence[bool]) -> Share:
    found = sum(hits)
    return Share(
        found=found,
        questions=len(hits),
        recall=round(found / len(hits), 4),
        interval=wilson(found, len(hits)),
    )


def _against(hits: Mapping[str, bool], first: Diagnosis) -> Against:
    theirs = [result.in_context for result in first.results]
    ours = [hits[result.id] for result in first.results]
    return Against(
        difference=paired_bootstrap(ours, theirs, seed=SEED), mcnemar_p=mcnemar(ours, theirs)
    )
