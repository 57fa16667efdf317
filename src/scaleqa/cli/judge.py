"""`scaleqa judge` and `scaleqa agree`: grade stored answers again, and see how judges differ."""

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from scaleqa.backends import Access, ChatModel, Limiter, Stop, open_chat, read_price
from scaleqa.cli.arguments import Cache, KeyVariable, PerMinute, Price, resumable
from scaleqa.errors import DataError
from scaleqa.evaluate.judgefile import ByFile, export_requests, import_verdicts
from scaleqa.evaluate.judging import judge_rows
from scaleqa.evaluate.labels import read_labels
from scaleqa.evaluate.rowfile import row_files
from scaleqa.evaluate.verdicts import judged_rows, judgements
from scaleqa.figures.groups import Group, group
from scaleqa.figures.judging import accuracies, agreements, by_judge, span
from scaleqa.figures.presence import present
from scaleqa.figures.scores import score
from scaleqa.figures.verdicts import Judged, summed
from scaleqa.judges import Judge, open_judge
from scaleqa.pages.terminal import print_tables
from scaleqa.report.judging import agreement_table, judges_table
from scaleqa.report.summaries import judged_table
from scaleqa.report.words import label
from scaleqa.specs import split_specs
from tsim.cli.shell import AsJson, print_json, progress_bar, say, tell

Rows = Annotated[Path, typer.Argument(help="Directory of rows from scaleqa run or batch import.")]


def judge(
    rows: Rows,
    judges: Annotated[
        str,
        typer.Option(
            "--judge", help="Comma-separated judges, with options as name:key=value;key=value."
        ),
    ],
    model: Annotated[
        str | None,
        typer.Option("--with", help="Chat model of judges that name none, as openai:MODEL."),
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="Who judges by file: a name, as requests and verdicts have.")
    ] = None,
    export: Annotated[
        Path | None, typer.Option(help="Write requests to this file instead; needs --by.")
    ] = None,
    answers: Annotated[
        list[Path] | None, typer.Option(help="Read what was said to requests; needs --by.")
    ] = None,
    partial: Annotated[bool, typer.Option(help="Leave open what --answers do not answer.")] = False,
    workers: Annotated[int, typer.Option(min=1, help="Answers that are graded at once.")] = 1,
    cache: Cache = True,
    rpm: PerMinute = None,
    price: Price = None,
    key_env: KeyVariable = None,
    as_json: AsJson = False,
) -> None:
    """Grade stored answers again, without asking the reader again.

    Verdicts are kept beside the rows, and an interrupted run continues there. Judges that ask a
    language model can be answered by file: --export writes requests, --answers reads the replies.

    Example: scaleqa judge runs/first --judge "f1,normalised,judge:prompt=judge-strict.v1"
    """
    _check_ways(by, export, answers, model)
    cost = read_price(price) if price else None
    stop = Stop(tell)
    access = Access(
        key_variable=key_env,
        limiter=Limiter(rpm, sleep=stop.sleep) if rpm else None,
        cached=cache,
        stop=stop,
    )
    with ExitStack() as stack:

        def chat(spec: str) -> ChatModel:
            return stack.enter_context(closing(open_chat(spec, access)))

        asked = ByFile(model=by) if by else chat(model) if model else None
        opened = [open_judge(spec, asked, chat=chat) for spec in split_specs(judges)]
        if by and export:
            _say_exported(export_requests(rows, opened, by, export), export, as_json=as_json)
            return
        if by:
            new = import_verdicts(rows, opened, by, answers or (), partial=partial, price=cost)
        else:
            with resumable(rows), progress_bar("verdicts") as advance:
                new = judge_rows(
                    rows, opened, workers=workers, price=cost, progress=advance, stop=stop
                )
    _show(rows, opened, new, as_json=as_json)


def agree(
    rows: Rows,
    labels: Annotated[
        list[Path] | None,
        typer.Option(help="Labels of people or blind readers: lines with id, system, correct."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare judges with each other, and with labels of people or blind readers.

    Example: scaleqa agree runs/first --labels labels.jsonl
    """
    every = judged_rows(rows, detail=False)
    known = by_judge(every)
    for path in labels or ():
        known[f"labels:{path.stem}"] = read_labels(path, every)
    found = agreements(known)
    if not found:
        raise DataError(
            f"the answers in {rows} were graded by one judge, so there is nothing to compare; "
            "grade them with others (scaleqa judge), or name --labels"
        )
    if as_json:
        shown = [_accuracy_json(one) for one in group(every) if one.setting.answers]
        print_json({"agreement": [asdict(one) for one in found], "accuracy": shown})
        return
    print_tables(agreement_table(found))


def _accuracy_json(one: Group) -> dict[str, Any]:
    """Returns accuracy by system and judge in a setting, and its range."""
    judges = {name: accuracies(present(own)) for name, own in one.rows.items()}
    return {
        "setting": label(one.setting, one.questions),
        "systems": [
            {"system": name, "judges": found, "range": span(found)}
            for name, found in judges.items()
        ],
    }


def _check_ways(
    by: str | None, export: Path | None, answers: Sequence[Path] | None, model: str | None
) -> None:
    """Refuses options that make no sense together."""
    if (export is not None or bool(answers)) and not by:
        raise DataError("--export and --answers are for judges by file; name them with --by NAME")
    if by and (export is not None) == bool(answers):
        raise DataError(f"{by} judges by file: give --export FILE, and later --answers FILE")
    if by and model:
        raise DataError(f"both --by {by} and --with {model} say who is asked; leave one out")


def _say_exported(count: int, out: Path, *, as_json: bool) -> None:
    if as_json:
        print_json({"path": str(out), "requests": count})
    else:
        say(f"Wrote {count} requests to {out}; later the same command with --answers FILE")


def _show(rows: Path, judges: Sequence[Judge], new: int, *, as_json: bool) -> None:
    names = [judge.identity for judge in judges]
    lines: list[Judged] = summed(
        (judge, row.run.system, one)
        for judge, row, one in judgements(row_files(rows))
        if judge in names
    )
    if as_json:
        print_json({"new": new, "verdicts": [asdict(line) for line in lines]})
        return
    say(f"{new:,} new verdicts")
    print_tables(judged_table(lines))
    for one in group(judged_rows(rows, detail=False)):
        if one.setting.answers:
            say(label(one.setting, one.questions))
            print_tables(judges_table({name: score(own) for name, own in one.rows.items()}))
