"""Figures of the retrieval page from what `diagnose` found."""

import os
import platform
from collections.abc import Mapping, Sequence

from scaleqa import __version__
from scaleqa.evaluate.retrieve import Diagnosis
from scaleqa.lengths import length
from scaleqa.packages import Package
from scaleqa.pages.markdown import to_markdown
from scaleqa.report.provenance import Provenance
from scaleqa.report.retrieval import retrieval_page
from scaleqa.report.retrieved import Against, Cost, Retrieved, Run, Share
from scaleqa.stats import mcnemar, paired_bootstrap, wilson

SEED = 7


def markdown(
    found: Sequence[Diagnosis], packages: Sequence[Package], model: str, command: str
) -> str:
    """Writes the retrieval page of packages of ours."""
    settings = packages[0].settings
    turns = sum(len(package.stream) for package in packages)
    facts = (
        ("Questions", f"{found[0].questions:,}"),
        (
            "Threads",
            f"{len(packages)} of {length(settings['target'])} tokens, {turns:,} turns "
            f"({settings['regime']}, mix {settings['mix']}, seeds {settings['noise_seed']} and "
            f"{settings['mix_seed']})",
        ),
        ("Machine", machine()),
    )
    run = Run(
        title="Results",
        command=command,
        embedder=f"{model}; the paper's is BGE-large",
        facts=facts,
        target=settings["target"],
        provenance=Provenance(
            version=__version__,
            packages=tuple((package.name, None) for package in packages),
        ),
    )
    return to_markdown(retrieval_page(retrieved(found, packages), run), "results")


def retrieved(found: Sequence[Diagnosis], packages: Sequence[Package]) -> list[Retrieved]:
    """Computes the lines of the page; the first system is what others are compared with."""
    groups = {query.id: query.domain for package in packages for query in package.queries}
    return [_retrieved(one, found[0], groups) for one in found]


def machine() -> str:
    """Names the machine that times are of."""
    return f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"


def _retrieved(one: Diagnosis, first: Diagnosis, groups: Mapping[str, str]) -> Retrieved:
    hits = {result.id: result.in_context for result in one.results}
    parts: dict[str, list[bool]] = {}
    for identity, hit in hits.items():
        parts.setdefault(groups[identity], []).append(hit)
    return Retrieved(
        system=one.system,
        recall=_share([result.recalled for result in one.results]),
        in_context=_share(list(hits.values())),
        together=one.co_containment,
        tokens=one.context_tokens,
        groups={name: _share(some) for name, some in sorted(parts.items())},
        against=None if one is first else _against(hits, first),
        cost=Cost(
            vectors=one.vectors,
            amplification=one.text_amplification,
            ingest_ms=one.ingest_ms_per_turn,
            p50_ms=one.retrieve_p50_ms,
            p95_ms=one.retrieve_p95_ms,
        ),
        views=one.view_hit_rates,
    )


def _share(hits: Sequence[bool]) -> Share:
    count = len(hits)
    return Share(questions=count, value=sum(hits) / count, interval=wilson(sum(hits), count))


def _against(hits: Mapping[str, bool], first: Diagnosis) -> Against:
    theirs = [result.in_context for result in first.results]
    ours = [hits[result.id] for result in first.results]
    difference = paired_bootstrap(ours, theirs, seed=SEED)
    return Against(
        difference=difference.difference,
        interval=difference.interval,
        mcnemar_p=mcnemar(ours, theirs),
    )
