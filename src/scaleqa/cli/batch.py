"""`scaleqa batch`: answers by a provider's batch API."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from scaleqa.backends import open_chat, read_price
from scaleqa.cli.run import Assist, Price, print_scores
from scaleqa.evaluate.batch import export_batch, import_batch
from scaleqa.evaluate.loop import LoopSettings
from scaleqa.evaluate.metrics import score
from scaleqa.packages import load_packages
from scaleqa.prompts import template
from scaleqa.specs import split_specs
from tsim.cli.shell import AsJson, print_json, progress_bar
from tsim.embed import open_embedder

app = typer.Typer(no_args_is_help=True, help="Answers by batch, without write-back.")


@app.command("export")
def export(
    packages: Annotated[Path, typer.Argument(help="A package, or a directory of packages.")],
    out: Annotated[Path, typer.Option(help="The file of requests to write.")],
    answer_model: Annotated[str, typer.Option(help="The provider's name of the answer model.")],
    system: Annotated[str, typer.Option(help="Systems, by commas.")] = "tsim,standard_rag",
    prompt: Annotated[str, typer.Option(help="The prompt's name.")] = "answer.v1",
    model: Annotated[str | None, typer.Option(help="Embedding model.")] = None,
    assist: Assist = None,
    as_json: AsJson = False,
) -> None:
    """Retrieve for every question and write the requests for OpenAI's batch API.

    Example: scaleqa batch export packages/16k --answer-model gpt-4o-mini --out batch/prompts.jsonl
    """
    loaded = load_packages(packages)
    embedder = open_embedder(model, cached=True)
    helper = open_chat(assist) if assist else None
    runs = [
        LoopSettings(system=spec, template=template(prompt), writeback=False, model=helper)
        for spec in split_specs(system)
    ]
    try:
        with progress_bar("requests") as report:
            count = export_batch(loaded, runs, answer_model, embedder, out, progress=report)
    finally:
        if helper:
            helper.close()
    if as_json:
        print_json({"path": str(out), "requests": count})
    else:
        print(f"wrote {count} requests to {out}; keep the file beside it for the import")


@app.command("import")
def import_(
    prompts: Annotated[Path, typer.Argument(help="The file that was exported.")],
    answers: Annotated[list[Path], typer.Argument(help="What the provider gave back.")],
    out: Annotated[Path, typer.Option(help="Directory for the rows.")],
    partial: Annotated[bool, typer.Option(help="Leave out what has no answer.")] = False,
    price: Price = None,
    model: Annotated[str | None, typer.Option(help="Embedding model.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make rows of exported requests and their answers.

    Example: scaleqa batch import batch/prompts.jsonl batch/output.jsonl --out runs/batch
    """
    cost = read_price(price) if price else None
    embedder = open_embedder(model, cached=True)
    rows = import_batch(prompts, answers, out, embedder, partial=partial, price=cost)
    systems = list(dict.fromkeys(row["run"]["system"] for row in rows))
    results = {
        name: score([row for row in rows if row["run"]["system"] == name]) for name in systems
    }
    if as_json:
        print_json([{"system": name, **asdict(scores)} for name, scores in results.items()])
    else:
        print_scores(results, out)
