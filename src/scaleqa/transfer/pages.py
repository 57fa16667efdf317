"""What was measured, as Markdown."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import mean

from scaleqa import __version__, paper
from scaleqa.evaluate.table import machine, retrieved
from scaleqa.packages import Package
from scaleqa.pages.markdown import to_markdown
from scaleqa.report.cuts import Cuts, cuts_page
from scaleqa.report.provenance import Provenance
from scaleqa.report.retrieval import retrieval_page
from scaleqa.report.retrieved import Run
from scaleqa.transfer.cuts import Segmented
from scaleqa.transfer.longmemeval import Chosen, Release
from scaleqa.transfer.measure import Measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a page comes from: its command and its embedder."""

    command: str
    model: str


def longmemeval_page(
    measured: Sequence[Measured],
    packages: Sequence[Package],
    release: Release,
    chosen: Chosen,
    origin: Origin,
) -> str:
    """Writes the page of LongMemEval."""
    settings = packages[0].settings
    made = (
        f"S-like: compiled from the oracle form up to {settings['target']:,} tokens, seed "
        f"{settings['seed']}"
        if release.oracle
        else "the file's own"
    )
    size = mean(package.stats["tokens"] for package in packages)
    turns = mean(len(package.stream) for package in packages)
    run = Run(
        title="LongMemEval",
        command=origin.command,
        embedder=origin.model,
        facts=(
            ("Input", f"sha256 `{release.sha256}`"),
            ("Histories", f"{made}; {size:,.0f} tokens in {turns:,.0f} turns on average"),
            (
                "Questions",
                f"{len(packages)}; left out: {chosen.abstentions} that are not to be answered, "
                f"{chosen.unmarked} without marked evidence",
            ),
            ("Machine", machine()),
        ),
        grouping="type of question",
        beside=paper.LONGMEMEVAL,
        provenance=Provenance(version=__version__),
    )
    figures = retrieved([one.diagnosis for one in measured], packages)
    return to_markdown(retrieval_page(figures, run), "longmemeval")


def tiage_page(
    found: Sequence[Segmented], k: int, hashes: Mapping[str, str], origin: Origin
) -> str:
    """Writes the page of TIAGE."""
    inputs = ", ".join(f"{name} sha256 `{value}`" for name, value in hashes.items())
    run = Run(
        title="TIAGE",
        command=origin.command,
        embedder=origin.model,
        facts=(("Input", inputs),),
        provenance=Provenance(version=__version__),
    )
    return to_markdown(cuts_page([Cuts(**asdict(one)) for one in found], k, run), "tiage")


def tiage_cells(one: Segmented) -> tuple[str, ...]:
    """Writes the figures of a rule."""
    return (
        one.rule,
        "–" if one.threshold is None else f"{one.threshold:g}",
        f"{one.pk:.3f}",
        f"{one.window_diff:.3f}",
        f"{one.f1:.3f}",
        f"{one.cuts:.2f}",
    )


def longmemeval_cells(one: Measured) -> tuple[str, ...]:
    """Writes the main figures of a system."""
    low, high = one.in_context.interval
    cells = (
        one.system,
        f"{one.in_context.recall:.3f}",
        f"{low:.3f}–{high:.3f}",
        f"{one.diagnosis.recall_at_5:.3f}",
        f"{one.diagnosis.context_tokens:,.0f}",
    )
    if one.against is None:
        return (*cells, "–", "–", "–")
    below, above = one.against.difference.interval
    return (
        *cells,
        f"{one.against.difference.difference:+.3f}",
        f"{below:+.3f} to {above:+.3f}",
        f"{one.against.mcnemar_p:.2g}",
    )
