"""`scaleqa retrieve`: diagnostics without an answer model."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from scaleqa.backends import open_chat
from scaleqa.cli.run import Assist
from scaleqa.evaluate import Diagnosis, diagnose
from scaleqa.evaluate.table import markdown
from scaleqa.packages import load_packages
from scaleqa.specs import split_specs
from tsim.cli.shell import AsJson, print_json, progress_bar
from tsim.embed import open_embedder

SYSTEMS = "tsim,tsim_official,standard_rag,hybrid_rrf,fixed_window"


def retrieve(
    packages: Annotated[Path, typer.Argument(help="A package, or a directory of packages.")],
    system: Annotated[
        str, typer.Option(help="Systems, by commas; options as name:key=value;key=value.")
    ] = SYSTEMS,
    model: Annotated[str | None, typer.Option(help="Embedding model.")] = None,
    assist: Assist = None,
    out: Annotated[Path | None, typer.Option(help="Write question-level rows here.")] = None,
    table: Annotated[Path | None, typer.Option(help="Write the table here, as Markdown.")] = None,
    as_json: AsJson = False,
) -> None:
    """Ask every question of every package; tell whether the evidence came back, and at what cost.

    Example: scaleqa retrieve packages/128k --system tsim,fixed_window:size=256
    """
    loaded = load_packages(packages)
    embedder = open_embedder(model, cached=True)
    helper = open_chat(assist) if assist else None
    found: list[Diagnosis] = []
    try:
        for spec in split_specs(system):
            with progress_bar(spec) as report:
                found.append(diagnose(loaded, spec, embedder, model=helper, progress=report))
    finally:
        if helper:
            helper.close()
    rows = [asdict(diagnosis) for diagnosis in found]
    details = [row.pop("results") for row in rows]
    if out:
        write_rows(out, rows, details)
    if table:
        command = f"scaleqa retrieve {packages} --system {system} --table {table}"
        page = markdown(found, loaded, embedder.identity, command)
        table.write_text(page, encoding="utf-8")
    if as_json:
        print_json(rows)
    else:
        Console().print(_table(found))


def write_rows(
    out: Path, rows: list[dict[str, object]], details: list[list[dict[str, object]]]
) -> None:
    """Writes one JSON line a system and question."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("w", encoding="utf-8") as file:
        for row, results in zip(rows, details, strict=True):
            for result in results:
                file.write(json.dumps({"system": row["system"], **result}) + "\n")


def _table(found: list[Diagnosis]) -> Table:
    table = Table(
        "system", "recall@5", "95 %", "in context", "co-contain", "tokens", "ms/turn", "p50 ms"
    )
    for one in found:
        low, high = one.recall_interval
        table.add_row(
            one.system,
            f"{one.recall_at_5:.3f}",
            f"{low:.3f}–{high:.3f}",
            f"{one.recall_in_context:.3f}",
            "–" if one.co_containment is None else f"{one.co_containment:.3f}",
            f"{one.context_tokens:.0f}",
            f"{one.ingest_ms_per_turn:.2f}",
            f"{one.retrieve_p50_ms:.2f}",
        )
    return table
