"""`scaleqa quickstart`: from a fresh install to a first comparison."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from scaleqa.backends import open_backend
from scaleqa.cli.arguments import resumable
from scaleqa.datasets import open_dataset
from scaleqa.evaluate import Reading, RunSettings, run_systems
from scaleqa.figures.scores import score
from scaleqa.packages import load_packages, write_packages
from scaleqa.pages.terminal import print_tables
from scaleqa.prompts import template
from scaleqa.report import write_report
from scaleqa.report.summaries import scores_table
from tsim.cli.shell import AsJson, print_json, progress_bar, say, tell
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
DATASET = "scaleqa:target=16k,subset=80"


def quickstart(
    out: Annotated[
        Path,
        typer.Option(
            help="Directory for thread, rows and report; an interrupted run continues there."
        ),
    ] = Path("runs/quickstart"),
    as_json: AsJson = False,
) -> None:
    """Build a small thread, run seven systems on it and write a report, without a model.

    Example: scaleqa quickstart
    """
    packages = out / "packages"
    if not packages.exists():
        write_packages(open_dataset(DATASET).threads(), packages)
    loaded = load_packages(packages)
    turns = sum(len(package.stream) for package in loaded)
    questions = sum(len(package.questions) for package in loaded)
    tell(f"{questions} questions about one thread of {turns} turns")
    reading = Reading(backend=open_backend("extractive"), template=template("answer.v1"))
    embedder = open_embedder(cached=True)
    several = [RunSettings(system=system, reading=reading) for system in SYSTEMS]
    with resumable(out):
        rows = run_systems(
            loaded, several, embedder, out / "rows", bar=lambda name: progress_bar(f"{name:13}")
        )
    results = {name: score(own) for name, own in rows.items()}
    page = out / "report.html"
    write_report(out / "rows", page)
    if as_json:
        print_json([{"system": name, **asdict(scores)} for name, scores in results.items()])
        return
    print_tables(scores_table(results))
    say("CL hit: all evidence is in the context, along the closed loop. Answers are written back")
    say("by a reader without a language model, so there is no accuracy to show.")
    say(f"The thread and all rows are in {out}; open {page} in a browser for the report.")
    say("Next:")
    say(f"  scaleqa compare {out / 'rows'} tsim tsim_official")
    say("  scaleqa build --target 128k --out packages/128k && scaleqa retrieve packages/128k")
    say("  scaleqa run packages/128k --backend openai:MODEL@BASE_URL --out runs/first")
