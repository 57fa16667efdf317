"""`scaleqa batch`: answers by file, from a provider's batch API or from blind readers."""

from contextlib import ExitStack, closing
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from scaleqa.backends import Access, Limiter, Stop, open_backend, open_chat, read_price
from scaleqa.cli import readers
from scaleqa.cli.arguments import (
    Assist,
    Cache,
    EmbeddingModel,
    JudgeModel,
    KeyVariable,
    PerMinute,
    Price,
    Prompt,
    Systems,
    Threads,
    resumable,
)
from scaleqa.cli.readers import sorted_out
from scaleqa.datasets import open_threads
from scaleqa.evaluate.batch import SEED, BatchSettings, export_batch
from scaleqa.evaluate.grading import chosen_template
from scaleqa.evaluate.imported import import_batch
from scaleqa.figures.groups import group
from scaleqa.figures.scores import score
from scaleqa.pages.terminal import print_tables
from scaleqa.reading import send_batch
from scaleqa.report.summaries import answer_tables, tracks_table
from scaleqa.specs import split_specs
from tsim.cli.shell import AsJson, print_json, progress_bar, say, tell
from tsim.embed import open_embedder

app = typer.Typer(
    no_args_is_help=True,
    help="Answer questions by file, without write-back: OpenAI's batch API, or blind readers.",
)
app.command()(readers.shard)
app.command()(readers.read)
app.command()(readers.check)


@app.command("export")
def export(
    threads: Threads,
    out: Annotated[Path, typer.Option(help="File for the requests.")],
    answer_model: Annotated[
        str | None,
        typer.Option(help="Answer model, as the provider names it; leave it out for readers."),
    ] = None,
    system: Systems = "tsim,standard_rag",
    sample: Annotated[
        int | None,
        typer.Option(min=1, help="Ask a stratified sample of this many questions, not all."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = SEED,
    prompt: Prompt = None,
    model: EmbeddingModel = None,
    assist: Assist = None,
    judge: JudgeModel = None,
    as_json: AsJson = False,
) -> None:
    """Retrieve for every question and write the requests, in the form of OpenAI's batch API.

    Example: scaleqa batch export packages/16k --sample 50 --out batch/prompts.jsonl
    """
    loaded = open_threads(threads)
    embedder = open_embedder(model, cached=True)
    with ExitStack() as stack:
        settings = BatchSettings(
            systems=tuple(split_specs(system)),
            answer_model=answer_model,
            template=chosen_template(prompt, loaded),
            model=stack.enter_context(closing(open_chat(assist))) if assist else None,
            judge_model=stack.enter_context(closing(open_chat(judge))) if judge else None,
            sample=sample,
            seed=seed,
        )
        with progress_bar("requests") as advance:
            count = export_batch(loaded, settings, embedder, out, progress=advance)
    if as_json:
        print_json({"path": str(out), "requests": count})
    else:
        say(
            f"Wrote {count} requests to {out}; keep the .rows.jsonl file next to it for the import."
        )


@app.command()
def send(
    prompts: Annotated[Path, typer.Argument(help="File written by scaleqa batch export.")],
    backend: Annotated[str, typer.Option(help="openai:MODEL[@BASE_URL] or gguf:NAME_OR_PATH.")],
    out: Annotated[Path, typer.Option(help="File for the answers, which is continued.")],
    workers: Annotated[int, typer.Option(min=1, help="Requests sent at once.")] = 1,
    cache: Cache = True,
    rpm: PerMinute = None,
    key_env: KeyVariable = None,
    as_json: AsJson = False,
) -> None:
    """Send exported requests to a provider that answers at once; the same command continues.

    Example: scaleqa batch send batch/prompts.jsonl --backend openai:gpt-4o-mini --out answers.jsonl
    """
    stop = Stop(tell)
    limiter = Limiter(rpm, sleep=stop.sleep) if rpm else None
    access = Access(key_variable=key_env, limiter=limiter, cached=cache, stop=stop)
    with (
        resumable(out),
        closing(open_backend(backend, access)) as opened,
        progress_bar("answers") as advance,
    ):
        count = send_batch(prompts, opened, out, workers=workers, stop=stop, progress=advance)
    if as_json:
        print_json({"path": str(out), "answers": count})
    else:
        say(f"{count} answers are in {out}; next: scaleqa batch import {prompts} {out} --out ROWS")


@app.command("import")
def import_(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Files written by scaleqa batch export, and their answers: files or shards."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Directory for the rows.")],
    reader: Annotated[
        str | None, typer.Option(help="Who answered, such as blind-reader; recorded in the rows.")
    ] = None,
    partial: Annotated[bool, typer.Option(help="Leave out requests without an answer.")] = False,
    price: Price = None,
    model: EmbeddingModel = None,
    judge: JudgeModel = None,
    as_json: AsJson = False,
) -> None:
    """Make rows from exported requests and their answers.

    The rows of several exports go to directories of their names.

    Example: scaleqa batch import batch/prompts.jsonl batch/output.jsonl --out runs/batch
    """
    prompts, answers = sorted_out(files)
    cost = read_price(price) if price else None
    embedder = open_embedder(model, cached=True)
    with ExitStack() as stack:
        grader = stack.enter_context(closing(open_chat(judge))) if judge else None
        rows = import_batch(
            prompts,
            answers,
            out,
            embedder,
            reader=reader,
            partial=partial,
            price=cost,
            judge_model=grader,
        )
    groups = group(rows)
    results = [{name: score(own) for name, own in one.rows.items()} for one in groups]
    if as_json:
        print_json(
            [{"system": name, **asdict(one)} for found in results for name, one in found.items()]
        )
        return
    for found in results:
        print_tables(*answer_tables(found))
    if len(groups) > 1:
        print_tables(tracks_table(groups))
    say(f"Rows are in {out}; next: scaleqa report {out}")
