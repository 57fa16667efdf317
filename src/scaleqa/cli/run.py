"""`scaleqa run` and `scaleqa compare`: the closed loop and its figures."""

from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from scaleqa.backends import Stop
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
    Workers,
    resumable,
)
from scaleqa.cli.executors import DEFAULT_LEASE, Jobs, Lease, Ray, Share, chosen
from scaleqa.datasets import open_threads
from scaleqa.evaluate.grading import chosen_template
from scaleqa.evaluate.verdicts import judged_rows, with_verdicts
from scaleqa.figures.paired import compare as compare_rows
from scaleqa.figures.presence import one_track
from scaleqa.figures.scores import Scores, score
from scaleqa.pages.terminal import print_tables
from scaleqa.report.summaries import abstaining_table, compared_table, costs_table, scores_table
from scaleqa.shards import Asked, Order, Recipe
from scaleqa.specs import split_specs
from tsim.cli.shell import AsJson, print_json, progress_bar, say, tell


def run(
    threads: Threads,
    out: Annotated[
        Path, typer.Option(help="Directory for the rows; an interrupted run continues there.")
    ],
    system: Systems = "tsim,standard_rag",
    backend: Annotated[
        str,
        typer.Option(help="extractive, openai:MODEL, openai:MODEL@BASE_URL or gguf:NAME_OR_PATH."),
    ] = "extractive",
    prompt: Prompt = None,
    writeback: Annotated[
        bool, typer.Option(help="Add each question and its answer to the thread.")
    ] = True,
    workers: Workers = 1,
    jobs: Jobs = None,
    share: Share = None,
    ray: Ray = None,
    lease: Lease = DEFAULT_LEASE,
    model: EmbeddingModel = None,
    assist: Assist = None,
    judge: JudgeModel = None,
    cache: Cache = True,
    rpm: PerMinute = None,
    price: Price = None,
    key_env: KeyVariable = None,
    as_json: AsJson = False,
) -> None:
    """Run systems in the closed loop: retrieve, ask, grade, write back.

    Example: scaleqa run packages/16k --system tsim,standard_rag --out runs/first
    """
    loaded = open_threads(threads)
    recipe = Recipe(
        model=model,
        assist=assist,
        backend=backend,
        prompt=chosen_template(prompt, loaded).name,
        writeback=writeback,
        judge=judge,
        price=price,
        cached=cache,
        rpm=rpm,
        key_env=key_env,
    )
    asked = tuple((Asked(package=one, out=out),) for one in loaded)
    order = Order(recipe=recipe, systems=tuple(split_specs(system)), threads=asked)
    with resumable(out), ExitStack() as stack:
        executor = chosen(
            stack, out, Stop(tell), workers=workers, jobs=jobs, share=share, ray=ray, lease=lease
        )
        (rows,) = executor.run([order], progress_bar)
    results = {name: score(with_verdicts(own, out)) for name, own in rows.items()}
    if as_json:
        print_json([{"system": name, **asdict(scores)} for name, scores in results.items()])
    else:
        print_scores(results, out)


def compare(
    rows: Annotated[
        Path, typer.Argument(help="Directory of rows from scaleqa run or scaleqa retrieve.")
    ],
    first: Annotated[str, typer.Argument(help="First system.")],
    second: Annotated[str, typer.Argument(help="Second system.")],
    as_json: AsJson = False,
) -> None:
    """Compare two systems on the questions that both were asked, with paired intervals.

    Example: scaleqa compare runs/first tsim standard_rag
    """
    every = judged_rows(rows, detail=False)
    questions, found = compare_rows(every, first, second)
    track = one_track(row for row in every if row.run.system in (first, second))
    if as_json:
        measures = [asdict(one) for one in found]
        print_json({"track": track, "questions": questions, "measures": measures})
        return
    print_tables(compared_table(first, second, found, track))
    say(f"{questions} questions; intervals by paired bootstrap, McNemar's test is exact")


def print_scores(results: dict[str, Scores], out: Path) -> None:
    """Prints the scores and costs of runs, and where the rows are."""
    print_tables(scores_table(results))
    if any(scores.abstaining for scores in results.values()):
        print_tables(abstaining_table(results))
    if any(scores.answers and scores.answers.prompt_tokens for scores in results.values()):
        print_tables(costs_table(results))
    if not all(scores.answers for scores in results.values()):
        say("No language model answered, so there is no accuracy; choose one with --backend.")
    say(f"Rows are in {out}; next: scaleqa report {out}, or scaleqa compare {out} A B")
