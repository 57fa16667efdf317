"""`scaleqa retrieve`: retrieval without an answer model."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from scaleqa.backends import Stop
from scaleqa.cli.arguments import (
    Assist,
    EmbeddingModel,
    Systems,
    Threads,
    Workers,
    require_writable,
    resumable,
    typed_command,
)
from scaleqa.cli.executors import DEFAULT_LEASE, Jobs, Lease, Ray, Share, chosen
from scaleqa.datasets import open_threads
from scaleqa.figures.retrieval import retrieval
from scaleqa.pages.markdown import write_markdown
from scaleqa.pages.terminal import print_tables
from scaleqa.report.retrieval import retrieval_page
from scaleqa.report.summaries import retrieval_table
from scaleqa.shards import Asked, Order, Recipe
from scaleqa.specs import split_specs
from scaleqa.systems import check_turns, with_budget
from tsim.cli.shell import AsJson, print_json, progress_bar, say, tell


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
    workers: Workers = 1,
    jobs: Jobs = None,
    share: Share = None,
    ray: Ray = None,
    lease: Lease = DEFAULT_LEASE,
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
    check_turns(wanted)
    require_writable(table)
    loaded = open_threads(threads)
    recipe = Recipe(model=model, assist=assist, detail=contexts and out is not None)
    asked = tuple((Asked(package=one, out=out),) for one in loaded)
    order = Order(recipe=recipe, systems=tuple(wanted), threads=asked)
    with resumable(out), ExitStack() as stack:
        executor = chosen(
            stack, out, Stop(tell), workers=workers, jobs=jobs, share=share, ray=ray, lease=lease
        )
        (rows,) = executor.run([order], progress_bar)
    if table:
        write_markdown(retrieval_page(rows, loaded, typed_command()), table)
    found = [retrieval(own) for own in rows.values()]
    if as_json:
        print_json([one.as_json() for one in found])
        return
    print_tables(retrieval_table(found))
    if out:
        say(f"Rows are in {out}; next: scaleqa report {out}, or scaleqa compare {out} A B")
