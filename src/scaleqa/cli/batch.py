"""`scaleqa batch`: answers through a provider's batch API."""

from contextlib import ExitStack, closing
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from scaleqa.backends import open_chat, read_price
from scaleqa.cli.arguments import (
    Assist,
    EmbeddingModel,
    JudgeModel,
    Price,
    Prompt,
    Systems,
    Threads,
)
from scaleqa.cli.run import print_scores
from scaleqa.datasets import open_threads
from scaleqa.evaluate.batch import BatchSettings, export_batch, import_batch
from scaleqa.evaluate.grading import chosen_template
from scaleqa.figures.scores import score
from scaleqa.specs import split_specs
from tsim.cli.shell import AsJson, print_json, progress_bar, say
from tsim.embed import open_embedder

app = typer.Typer(
    no_args_is_help=True, help="Answer questions through OpenAI's batch API, without write-back."
)


@app.command("export")
def export(
    threads: Threads,
    out: Annotated[Path, typer.Option(help="File for the requests.")],
    answer_model: Annotated[str, typer.Option(help="Answer model, as the provider names it.")],
    system: Systems = "tsim,standard_rag",
    prompt: Prompt = None,
    model: EmbeddingModel = None,
    assist: Assist = None,
    judge: JudgeModel = None,
    as_json: AsJson = False,
) -> None:
    """Retrieve for every question and write the requests for OpenAI's batch API.

    Example: scaleqa batch export packages/16k --answer-model gpt-4o-mini --out batch/prompts.jsonl
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
        )
        with progress_bar("requests") as advance:
            count = export_batch(loaded, settings, embedder, out, progress=advance)
    if as_json:
        print_json({"path": str(out), "requests": count})
    else:
        say(
            f"Wrote {count} requests to {out}; keep the .rows.jsonl file next to it for the import."
        )


@app.command("import")
def import_(
    prompts: Annotated[Path, typer.Argument(help="File written by scaleqa batch export.")],
    answers: Annotated[list[Path], typer.Argument(help="Output files of the provider.")],
    out: Annotated[Path, typer.Option(help="Directory for the rows.")],
    partial: Annotated[bool, typer.Option(help="Leave out requests without an answer.")] = False,
    price: Price = None,
    model: EmbeddingModel = None,
    judge: JudgeModel = None,
    as_json: AsJson = False,
) -> None:
    """Make rows from exported requests and their answers.

    Example: scaleqa batch import batch/prompts.jsonl batch/output.jsonl --out runs/batch
    """
    cost = read_price(price) if price else None
    embedder = open_embedder(model, cached=True)
    with ExitStack() as stack:
        grader = stack.enter_context(closing(open_chat(judge))) if judge else None
        rows = import_batch(
            prompts, answers, out, embedder, partial=partial, price=cost, judge_model=grader
        )
    systems = list(dict.fromkeys(row.run.system for row in rows))
    results = {name: score([row for row in rows if row.run.system == name]) for name in systems}
    if as_json:
        print_json([{"system": name, **asdict(scores)} for name, scores in results.items()])
    else:
        print_scores(results, out)
