"""`scaleqa run` and `scaleqa compare`: the closed loop and its figures."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from scaleqa.backends import Access, Limiter, open_backend, open_chat, read_price
from scaleqa.evaluate.compare import compare as compare_rows
from scaleqa.evaluate.loop import LoopSettings, run_packages
from scaleqa.evaluate.metrics import Scores, score
from scaleqa.evaluate.rows import all_rows
from scaleqa.packages import load_packages
from scaleqa.prompts import template
from scaleqa.specs import split_specs
from tsim.cli.shell import AsJson, print_json, progress_bar
from tsim.embed import open_embedder

Assist = Annotated[
    str | None,
    typer.Option(help="A chat model for systems that use one: openai:MODEL or gguf:NAME."),
]
Price = Annotated[
    str | None, typer.Option(help="IN,OUT: US dollars per million tokens, for the costs.")
]


def run(
    packages: Annotated[Path, typer.Argument(help="A package, or a directory of packages.")],
    out: Annotated[Path, typer.Option(help="Directory for the rows; a stopped run goes on there.")],
    system: Annotated[str, typer.Option(help="Systems, by commas.")] = "tsim,standard_rag",
    backend: Annotated[
        str, typer.Option(help="extractive, openai:MODEL[@BASE_URL], or gguf:NAME_OR_PATH.")
    ] = "extractive",
    prompt: Annotated[str, typer.Option(help="The prompt's name.")] = "answer.v1",
    writeback: Annotated[bool, typer.Option(help="Exchanges become part of the thread.")] = True,
    workers: Annotated[int, typer.Option(min=1, help="Packages run at once.")] = 1,
    model: Annotated[str | None, typer.Option(help="Embedding model.")] = None,
    assist: Assist = None,
    cache: Annotated[bool, typer.Option(help="Keep replies and use kept ones.")] = True,
    rpm: Annotated[float | None, typer.Option(min=0.01, help="Most requests a minute.")] = None,
    price: Price = None,
    key_env: Annotated[
        str | None, typer.Option(help="The variable that holds the key, if not OPENAI_API_KEY.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run systems in the closed loop: retrieve, ask, grade, write back.

    Example: scaleqa run packages/16k --system tsim,standard_rag --out runs/first
    """
    loaded = load_packages(packages)
    embedder = open_embedder(model, cached=True)
    access = Access(key_variable=key_env, limiter=Limiter(rpm) if rpm else None, cached=cache)
    cost = read_price(price) if price else None
    answering = open_backend(backend, access)
    helper = open_chat(assist, access) if assist else None
    chosen = template(prompt)
    results: dict[str, Scores] = {}
    try:
        for spec in split_specs(system):
            settings = LoopSettings(
                system=spec, template=chosen, writeback=writeback, model=helper, price=cost
            )
            with progress_bar(spec) as report:
                rows = run_packages(
                    loaded, settings, answering, embedder, out, workers=workers, progress=report
                )
            results[spec] = score(rows)
    finally:
        answering.close()
        if helper:
            helper.close()
    if as_json:
        print_json([{"system": name, **asdict(scores)} for name, scores in results.items()])
    else:
        print_scores(results, out)


def compare(
    runs: Annotated[Path, typer.Argument(help="Directory of rows.")],
    first: Annotated[str, typer.Argument(help="A system.")],
    second: Annotated[str, typer.Argument(help="Another one.")],
    as_json: AsJson = False,
) -> None:
    """Compare two systems on the questions both answered: paired differences with intervals.

    Example: scaleqa compare runs/first tsim standard_rag
    """
    questions, found = compare_rows(all_rows(runs), first, second)
    if as_json:
        print_json({"questions": questions, "measures": [asdict(one) for one in found]})
        return
    table = Table("measure", first, second, "difference", "95 %", "McNemar p")
    for one in found:
        low, high = one.difference.interval
        table.add_row(
            one.measure,
            f"{one.first:.3f}",
            f"{one.second:.3f}",
            f"{one.difference.difference:+.3f}",
            f"{low:+.3f} to {high:+.3f}",
            f"{one.mcnemar_p:.2g}",
        )
    Console().print(table)


def print_scores(results: dict[str, Scores], out: Path) -> None:
    """Prints the figures of some runs, what they cost, and where the rows are."""
    table = Table(
        "system", "accuracy", "strict", "unanswered", "CL hit", "tokens", "from exchanges"
    )
    costs = Table("system", "tokens in", "tokens out", "USD", "from the cache")
    for name, scores in results.items():
        table.add_row(
            name,
            f"{scores.accuracy:.3f}",
            f"{scores.strict_accuracy:.3f}",
            f"{scores.unanswered:.3f}",
            f"{scores.hit:.3f}",
            f"{scores.context_tokens:.0f}",
            f"{scores.exchange_share:.1%}",
        )
        costs.add_row(
            name,
            f"{scores.prompt_tokens:,}",
            f"{scores.completion_tokens:,}",
            "–" if scores.cost_usd is None else f"{scores.cost_usd:.4f}",
            f"{scores.cached:.0%}",
        )
    Console().print(table)
    if any(scores.prompt_tokens for scores in results.values()):
        Console().print(costs)
    print(f"rows are in {out}; next: scaleqa report {out}, or scaleqa compare {out} A B")
