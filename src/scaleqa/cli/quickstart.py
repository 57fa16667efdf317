"""`scaleqa quickstart`: from a fresh install to a first comparison."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from scaleqa.backends import open_backend
from scaleqa.evaluate.loop import LoopSettings, run_packages
from scaleqa.evaluate.metrics import Scores, score
from scaleqa.noise import shipped_pool
from scaleqa.packages import BuildSettings, build, load_packages, subset, write_packages
from scaleqa.prompts import template
from scaleqa.records import shipped
from scaleqa.report import write_report
from tsim.cli.shell import AsJson, print_json, progress_bar, stderr
from tsim.embed import open_embedder

SYSTEMS = (
    "tsim",
    "tsim_official",
    "fixed_window",
    "hybrid_rrf",
    "standard_rag",
    "full_context",
    "oracle",
)
QUESTIONS = 80
TARGET = 16_000
SEED = 11


def quickstart(
    out: Annotated[
        Path,
        typer.Option(help="Directory for thread, rows and report; a repeat goes on there."),
    ] = Path("runs/quickstart"),
    as_json: AsJson = False,
) -> None:
    """Build a small thread, run seven systems on it in the closed loop, write a report; no model.

    Example: scaleqa quickstart
    """
    packages = out / "packages"
    if not packages.exists():
        chosen = subset(shipped(), QUESTIONS, SEED)
        made = build(chosen, shipped_pool().dialogues, BuildSettings(target=TARGET))
        write_packages(made, packages)
    loaded = load_packages(packages)
    turns = sum(len(package.stream) for package in loaded)
    stderr.print(f"{QUESTIONS} questions about one thread of {turns} turns, {TARGET:,} tokens")
    backend = open_backend("extractive")
    embedder = open_embedder(cached=True)
    results: dict[str, Scores] = {}
    for system in SYSTEMS:
        settings = LoopSettings(system=system, template=template("answer.v1"))
        with progress_bar(f"{system:13}") as report:
            rows = run_packages(loaded, settings, backend, embedder, out / "rows", progress=report)
        results[system] = score(rows)
    page = out / "report.html"
    write_report(out / "rows", page)
    if as_json:
        print_json([{"system": name, **asdict(scores)} for name, scores in results.items()])
        return
    Console().print(_table(results))
    print("CL hit: all evidence is in the context, along the closed loop. No model answers here.")
    print(f"The thread and every row are in {out}.")
    print(f"The report with all figures and questions is {page}: open it in a browser. Next:")
    print(f"  scaleqa compare {out / 'rows'} tsim tsim_official")
    print("  scaleqa build --target 128k --out packages/128k && scaleqa retrieve packages/128k")
    print("  scaleqa run packages/128k --backend openai:MODEL@BASE_URL --out runs/first")


def _table(results: dict[str, Scores]) -> Table:
    table = Table("system", "CL hit", "context tokens", "of them earlier exchanges")
    for name, scores in results.items():
        table.add_row(
            name,
            f"{scores.hit:.3f}",
            f"{scores.context_tokens:,.0f}",
            f"{scores.exchange_share:.0%}",
        )
    return table
