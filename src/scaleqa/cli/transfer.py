"""`scaleqa transfer`: other people's data."""

import json
import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Column, Table

from scaleqa.packages import parse_target
from scaleqa.specs import split_specs
from scaleqa.systems import with_budget
from scaleqa.transfer import (
    Chat,
    Measured,
    choose,
    compare_rules,
    compile_threads,
    embedded,
    load_chats,
    load_release,
    measure,
)
from scaleqa.transfer.cuts import Embedded
from scaleqa.transfer.pages import (
    Origin,
    longmemeval_cells,
    longmemeval_page,
    tiage_cells,
    tiage_page,
)
from scaleqa.transfer.tiage import DEV, TEST
from tsim.cli.shell import AsJson, print_json, progress_bar
from tsim.embed import Embedder, open_embedder

app = typer.Typer(no_args_is_help=True, help="Measure on other people's data.")

SYSTEMS = (
    "tsim:budget=1100,tsim:budget=2400,tsim:budget=4700,"
    "bm25_chunks,hybrid_rrf:budget=4700,standard_rag"
)
PageOut = Annotated[Path | None, typer.Option("--table", help="Write the tables as Markdown.")]


@app.command()
def longmemeval(
    file: Annotated[Path, typer.Argument(help="LongMemEval as published, plain or .gz.")],
    target: Annotated[
        str, typer.Option(help="Tokens of a history made from the oracle form.")
    ] = "115k",
    system: Annotated[
        str, typer.Option(help="Systems, by commas; options as name:key=value;key=value.")
    ] = SYSTEMS,
    budget: Annotated[
        int | None,
        typer.Option(min=1, help="Context tokens, for systems that take a budget and name none."),
    ] = None,
    subset: Annotated[
        int | None, typer.Option(min=1, help="Ask only so many questions, drawn by the seed.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Draws questions and other sessions.")] = 0,
    model: Annotated[str | None, typer.Option(help="Embedding model.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write question-level rows here.")] = None,
    page: PageOut = None,
    as_json: AsJson = False,
) -> None:
    """Ask each question of LongMemEval over a flat thread of its own; is all evidence found?

    Subsets of one seed are nested. The paper's method (tsim_official, with preset=longmemeval or
    without) embeds
    hundreds of new texts a thread: name it together with a subset.

    Example: scaleqa transfer longmemeval longmemeval_oracle.json.gz --system tsim,bm25_chunks
    """
    release = load_release(file)
    chosen = choose(release.questions, subset, seed)
    packages = compile_threads(release, chosen.questions, target=parse_target(target), seed=seed)
    embedder = open_embedder(model, cached=True)
    measured: list[Measured] = []
    for spec in split_specs(system):
        with progress_bar(spec) as report:
            measured.append(
                measure(
                    packages,
                    with_budget(spec, budget) if budget else spec,
                    embedder,
                    first=measured[0] if measured else None,
                    progress=report,
                )
            )
    if out:
        types = {query.id: query.domain for package in packages for query in package.queries}
        _write_rows(out, measured, types)
    if page:
        origin = Origin(command=_command(file), model=embedder.identity)
        text = longmemeval_page(measured, packages, release, chosen, origin)
        page.write_text(text, encoding="utf-8")
    if as_json:
        print_json(
            {
                "sha256": release.sha256,
                "questions": len(packages),
                "abstentions": chosen.abstentions,
                "unmarked": chosen.unmarked,
                "systems": [_row(one) for one in measured],
            }
        )
        return
    heads = ("in context", "95 %", "best 5", "tokens", "difference", "95 %", "p")
    table = Table(Column("system", no_wrap=True), *heads)
    for one in measured:
        table.add_row(*longmemeval_cells(one))
    Console().print(table)
    print(
        f"{len(packages)} questions; left out: {chosen.abstentions} not to be answered, "
        f"{chosen.unmarked} without marked evidence"
    )


@app.command()
def tiage(
    directory: Annotated[Path, typer.Argument(help=f"TIAGE, with {DEV} and {TEST}.")],
    seed: Annotated[int, typer.Option(help="Draws the cuts by chance.")] = 0,
    model: Annotated[str | None, typer.Option(help="Embedding model.")] = None,
    page: PageOut = None,
    as_json: AsJson = False,
) -> None:
    """Cut the chats of TIAGE by each rule; how far is that from where readers saw a shift?

    Example: scaleqa transfer tiage data/tiage
    """
    sets = {name: load_chats(directory / name) for name in (DEV, TEST)}
    embedder = open_embedder(model, cached=True)
    ready = {name: _embed(name, held.chats, embedder) for name, held in sets.items()}
    k, found = compare_rules(ready[DEV], ready[TEST], seed)
    if page:
        hashes = {name: held.sha256 for name, held in sets.items()}
        origin = Origin(command=_command(directory), model=embedder.identity)
        page.write_text(tiage_page(found, k, hashes, origin), encoding="utf-8")
    if as_json:
        print_json({"window": k, "rules": [asdict(one) for one in found]})
        return
    table = Table(
        Column("rule", no_wrap=True), "threshold", "Pk", "WindowDiff", "F1", "cuts a chat"
    )
    for one in found:
        table.add_row(*tiage_cells(one))
    Console().print(table)
    print(f"{len(sets[TEST].chats)} test chats, windows of {k} gaps; lower Pk is better")


def _embed(label: str, chats: tuple[Chat, ...], embedder: Embedder) -> list[Embedded]:
    out = []
    with progress_bar(f"embedding {label}") as report:
        for chat in chats:
            out.append(embedded(chat, embedder.embed(chat.texts)))
            report(len(out), len(chats))
    return out


def _row(one: Measured) -> dict[str, Any]:
    row = asdict(one)
    diagnosis = row.pop("diagnosis")
    kept = ("recall_at_5", "context_tokens", "ingest_ms_per_turn", "retrieve_p50_ms")
    return row | {name: diagnosis[name] for name in kept}


def _write_rows(out: Path, measured: list[Measured], types: dict[str, str]) -> None:
    """Writes one JSON line a system and question."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("w", encoding="utf-8") as file:
        for one in measured:
            for result in one.diagnosis.results:
                row = {"system": one.system, "type": types[result.id], **asdict(result)}
                file.write(json.dumps(row) + "\n")


def _command(given: Path) -> str:
    """The command as it was typed, with the input by its name alone."""
    words = [given.name if word == str(given) else word for word in sys.argv[1:]]
    return shlex.join(["scaleqa", *words])
