"""The retrieval table, ours beside the paper's."""

import os
import platform
from collections.abc import Sequence

from scaleqa.evaluate.retrieve import Diagnosis
from scaleqa.packages import Package

# (recall@5, co-containment) with BGE-large and recall@5 with MiniLM, at 128k over 3,000 questions.
PAPER: dict[str, tuple[str, str, str]] = {
    "tsim_official": (".810", ".890", ".649"),
    "standard_rag": (".456", ".004", ".408"),
    "fixed_window": (".719", ".675", "–"),
    "fixed_window:size=256": (".647", ".826", "–"),
    "fixed_window:size=320": (".577", ".831", "–"),
}


def markdown(
    found: Sequence[Diagnosis], packages: Sequence[Package], model: str, command: str
) -> str:
    """Writes the page."""
    settings = packages[0].settings
    turns = sum(len(package.stream) for package in packages)
    lines = [
        "# Results",
        "",
        f"This page is generated: `{command}`. {found[0].questions:,} questions, "
        f"{len(packages)} packages of {settings['target']:,} tokens ({settings['regime']}, mix "
        f"{settings['mix']}, seeds {settings['noise_seed']} and {settings['mix_seed']}), "
        f"{turns:,} turns. Embedder: {model}, standing in for the paper's BGE-large. Machine: "
        f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}.",
        "",
        "All-evidence recall: the best five units together (or the whole context) hold every "
        "evidence turn. Co-containment: one unit holds all, on questions with several. Records and "
        "noise are ours, not the paper's, so figures stand beside each other, not against.",
        "",
        "| system | recall@5 | 95 % | in context | co-containment | context tokens | "
        "paper recall@5 (BGE-large / MiniLM) | paper co-containment |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in found:
        large, together, small = PAPER.get(one.system, ("–", "–", "–"))
        low, high = one.recall_interval
        own = "–" if one.co_containment is None else f"{one.co_containment:.3f}"
        lines.append(
            f"| {one.system} | {one.recall_at_5:.3f} | {low:.3f}–{high:.3f} | "
            f"{one.recall_in_context:.3f} | {own} | {one.context_tokens:.0f} | {large} / {small} | "
            f"{together} |"
        )
    lines += [
        "",
        "| system | vectors | text amplification | ingest ms a turn | p50 ms | p95 ms |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {one.system} | {one.vectors:,} | {one.text_amplification:.2f} | "
        f"{one.ingest_ms_per_turn:.2f} | {one.retrieve_p50_ms:.2f} | {one.retrieve_p95_ms:.2f} |"
        for one in found
    ]
    lines += [
        "",
        "Times include embedding, as far as it was not cached by a system that ran before.",
    ]
    views = [one for one in found if one.view_hit_rates]
    for one in views:
        rates = ", ".join(f"{name} {rate:.3f}" for name, rate in one.view_hit_rates.items())
        paper = (
            " (paper: raw .638, summary .861, cluster .708)"
            if one.system == "tsim_official"
            else ""
        )
        lines += ["", f"Views of {one.system} that lead to evidence: {rates}{paper}."]
    return "\n".join(lines) + "\n"
