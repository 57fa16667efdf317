"""`scaleqa retrieve`: retrieval without an answer model."""

from contextlib import ExitStack, closing
from pathlib import Path
from typing import Annotated

import typer

from scaleqa.backends import Access, Stop, open_chat
from scaleqa.cli.arguments import (
    Assist,
    EmbeddingModel,
    Systems,
    Threads,
    require_writable,
    resumable,
    typed_command,
)
from scaleqa.datasets import open_threads
from scaleqa.evaluate import RunSettings, run_systems
from scaleqa.figures.retrieval import retrieval
from scaleqa.pages.markdown import write_markdown
from scaleqa.pages.terminal import print_tables
from scaleqa.report.retrieval import retrieval_page
from scaleqa.report.summaries import retrieval_table
from scaleqa.specs import split_specs
from scaleqa.systems import with_budget
from tsim.cli.shell import AsJson, print_json, progress_bar, say, tell
from tsim.embed import open_embedder


def retrieve(
    threads: Threads,
    system: Systems = "tsim,tsim_official,standard_rag,hybrid_rrf,fixed_window",
    budget: Annotated[
        int | None,
        typer.Option(min=1, help="Tokens of the context, for systems that can be limited."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Directory for the rows; an interrupted run continues there."),
    ] = None,
    contexts: Annotated[
        bool, typer.Option(help="Keep contexts and units in the rows, for scaleqa report.")
    ] = True,
    table: Annotated[
        Path | None, typer.Option(help="Write the tables to this file, as Markdown.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Number of packages run in parallel.")] = 1,
    model: EmbeddingModel = None,
    assist: Assist = None,
    as_json: AsJson = False,
) -> None:
    """Ask every question and report whether the evidence is retrieved, and in how many tokens.

    Times exclude the embedding of texts, which is cached and shared by all systems. `scaleqa
    reproduce cost` measures everything with a cold cache.

    Example: scaleqa retrieve scaleqa:target=16k,subset=80 --system tsim,fixed_window:size=256
    """
    wanted = [with_budget(one, budget) if budget else one for one in split_specs(system)]
    require_writable(table)
    loaded = open_threads(threads)
    embedder = open_embedder(model, cached=True)
    stop = Stop(tell)
    keep = contexts and out is not None
    with resumable(out), ExitStack() as stack:
        access = Access(stop=stop)
        helper = stack.enter_context(closing(open_chat(assist, access))) if assist else None
        several = [RunSettings(system=one, model=helper, detail=keep) for one in wanted]
        rows = run_systems(
            loaded, several, embedder, out, workers=workers, bar=progress_bar, stop=stop
        )
    if table:
        write_markdown(retrieval_page(rows, loaded, typed_command()), table)
    found = [retrieval(own) for own in rows.values()]
    if as_json:
        print_json([one.as_json() for one in found])
        return
    print_tables(retrieval_table(found))
    if out:
        say(f"Rows are in {out}; next: scaleqa report {out}, or scaleqa compare {out} A B")
