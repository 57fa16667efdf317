"""Pure: what was measured, as Markdown."""

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

from scaleqa.transfer.cuts import Segmented
from scaleqa.transfer.longmemeval import Chosen, Release
from scaleqa.transfer.measure import Measured

from scaleqa.packages import Package

# (method, all-evidence recall in %, mean context tokens) of the paper's transfer table.
PAPER = (
    ("TSIM, adapted", "84.04", "4,723"),
    ("BM25 over fixed chunks of 1,100, top 5", "65.74", "4,616"),
    ("turns by BGE-large, top 5", "70.64", "341"),
    ("BM25 over sessions, top 5 (told the boundaries)", "76.60", "13,086"),
)


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
        f"Histories are S-like: compiled from the oracle form up to {settings['target']:,} tokens, "
        f"seed {settings['seed']}."
        if release.oracle
        else "Histories are the file's own."
    )
    size = mean(package.stats["tokens"] for package in packages)
    turns = mean(len(package.stream) for package in packages)
    lines = [
        "# LongMemEval",
        "",
        f"This page is generated: `{origin.command}`. Input: sha256 `{release.sha256}`. {made} "
        f"{len(packages)} questions; left out: {chosen.abstentions} that are not to be answered, "
        f"{chosen.unmarked} without marked evidence. A mean thread has {size:,.0f} tokens in "
        f"{turns:,.0f} turns. Embedder: {origin.model}. Machine: {os.cpu_count()} cores, "
        f"{platform.machine()}, Python {platform.python_version()}.",
        "",
        "Recall: all turns marked as evidence are in the context, whole. The difference is to the "
        "first system, on the same questions, with a paired bootstrap interval and McNemar's p.",
        "",
        "| system | recall in context | 95 % | best five units | context tokens | difference | "
        "95 % | p |",
        "|---|---|---|---|---|---|---|---|",
        *(_longmemeval_line(one) for one in measured),
        "",
        "By type of question:",
        "",
        *_types(measured),
        "",
        "| system | ingest ms a turn | retrieve p50 ms |",
        "|---|---|---|",
    ]
    lines += [
        f"| {one.system} | {one.diagnosis.ingest_ms_per_turn:.2f} | "
        f"{one.diagnosis.retrieve_p50_ms:.1f} |"
        for one in measured
    ]
    lines += [
        "",
        "Times include embedding, as far as it was not cached before.",
        "",
        "The paper, on 470 questions of the official LongMemEval-S with BGE-large and an "
        "adaptation chosen on the same questions:",
        "",
        "| method | recall % | context tokens |",
        "|---|---|---|",
        *(f"| {' | '.join(row)} |" for row in PAPER),
    ]
    return "\n".join(lines) + "\n"


def tiage_page(
    found: Sequence[Segmented], k: int, hashes: Mapping[str, str], origin: Origin
) -> str:
    """Writes the page of TIAGE."""
    inputs = ", ".join(f"{name} sha256 `{value}`" for name, value in hashes.items())
    lines = [
        "# TIAGE",
        "",
        f"This page is generated: `{origin.command}`. Input: {inputs}. Embedder: {origin.model}. "
        f"Pk and WindowDiff look through windows of {k} gaps, half the mean segment, and are means "
        "over the test chats: lower is better. F1 counts cuts at exactly the right gap. "
        "Thresholds are tuned for Pk on the dev chats.",
        "",
        "| rule | threshold | Pk | WindowDiff | F1 | cuts a chat |",
        "|---|---|---|---|---|---|",
        *(f"| {' | '.join(tiage_cells(one))} |" for one in found),
    ]
    return "\n".join(lines) + "\n"


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


def _longmemeval_line(one: Measured) -> str:
    return f"| {' | '.join(longmemeval_cells(one))} |"


def _types(measured: Sequence[Measured]) -> list[str]:
    names = list(measured[0].by_type)
    heads = [f"{name} ({measured[0].by_type[name].questions})" for name in names]
    return [
        f"| system | {' | '.join(heads)} |",
        f"|---{'|---' * len(names)}|",
        *(
            f"| {one.system} | "
            + " | ".join(f"{one.by_type[name].recall:.3f}" for name in names)
            + " |"
            for one in measured
        ),
    ]
