"""`scaleqa leaderboard`: make results, check them, and write the page of them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from scaleqa import __version__
from scaleqa.cli.arguments import EmbeddingModel, require_writable
from scaleqa.errors import DataError, InvalidError
from scaleqa.evaluate.batch import SEED as SAMPLE_SEED
from scaleqa.evaluate.rowfile import write_whole
from scaleqa.evaluate.verdicts import judged_rows
from scaleqa.leaderboard import (
    Checked,
    Claims,
    Entry,
    Receipt,
    State,
    Submission,
    apart,
    asked_of,
    check,
    chosen_rows,
    find_results,
    json_schema,
    leaderboard_page,
    make_result,
    read_submission,
    read_verdicts,
    rebuilt,
    recompute,
    slim,
    write_receipt,
    write_submission,
)
from scaleqa.leaderboard.recomputing import SEED
from scaleqa.packages import Package
from scaleqa.pages.html import to_html
from scaleqa.pages.json import to_json
from scaleqa.pages.markdown import write_markdown
from tsim.cli.shell import AsJson, failed, print_json, progress_bar, say
from tsim.embed import open_embedder

app = typer.Typer(
    no_args_is_help=True,
    help="Results that follow from their rows, and a page of them.\n\n"
    "Example: scaleqa leaderboard check results",
)
# Something could not be checked here: done, except for input that could not be read.
PARTLY = 3
Results = Annotated[
    Path, typer.Argument(help="A result, or a directory of results.", show_default=False)
]


@app.command()
def add(
    run: Annotated[
        Path, typer.Argument(help="Directory of rows: of scaleqa run, retrieve or batch import.")
    ],
    out: Annotated[Path, typer.Option(help="Directory for the result, such as results/NAME.")],
    data: Annotated[
        str | None,
        typer.Option(help="The data set of the run, such as scaleqa:split=s2,target=128k."),
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(min=1, help="Questions asked, where batch export took a sample of them."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = SAMPLE_SEED,
    system: Annotated[
        str | None, typer.Option(help="The system, if the run has several: name:key=value.")
    ] = None,
    version: Annotated[
        str | None, typer.Option(help="Version of the system; that of scaleqa by default.")
    ] = None,
    link: Annotated[str | None, typer.Option(help="Where the system is described.")] = None,
    note: Annotated[str, typer.Option(help="A sentence for readers.")] = "",
    verdicts: Annotated[
        Path | None,
        typer.Option(
            help="Verdicts of further judges, as lines of JSON, besides those of scaleqa judge."
        ),
    ] = None,
    contexts: Annotated[
        bool, typer.Option(help="Keep texts and contexts in the rows, if they have them.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make a result from the rows of a run. It is checked first: what would be refused is not made.

    Example: scaleqa leaderboard add runs/found --data scaleqa:target=16k,subset=80 --out results/me
    """
    if out.exists():
        raise DataError(f"{out} exists already; remove it, or choose another --out")
    if sample and not data:
        raise DataError("a sample is drawn again to be checked; name the data set with --data")
    rows, further = apart(chosen_rows(judged_rows(run), system))
    rows = rows if contexts else [slim(row) for row in rows]
    further += read_verdicts(verdicts) if verdicts else []
    claims = Claims(data=data, version=version, link=link, note=note)
    packages = rebuilt(data) if data else []
    asked = asked_of(data, packages, sample, seed) if data else None
    result = make_result(rows, claims, further, asked)
    made = Submission(
        path=out, result=result, rows=rows, rows_sha256=result.rows_sha256, verdicts=further
    )
    checked = check(made, {data: tuple(packages)} if data else None)
    if checked.refused:
        _refuse([checked], as_json=as_json)
    write_submission(out, result, rows, further)
    if as_json:
        print_json(result.model_dump(mode="json"))
        return
    _tell(checked)
    size = sum(file.stat().st_size for file in out.iterdir())
    say(f"wrote {out} ({size / 1000:.0f} kB); next: scaleqa leaderboard check {out}")


@app.command("check")
def check_command(
    results: Results,
    again: Annotated[
        int | None,
        typer.Option(
            "--recompute", min=1, help="Also run the system again on this many questions of each."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Chooses these questions.")] = SEED,
    receipt: Annotated[
        bool, typer.Option(help="Note in the result that the system did the same again.")
    ] = False,
    model: EmbeddingModel = None,
    as_json: AsJson = False,
) -> None:
    """Make every figure and package again and compare: exit code 0, 1 refused, 3 partly checked.

    Example: scaleqa leaderboard check results
    """
    built: dict[str, tuple[Package, ...]] = {}
    found: list[Checked] = []
    for path in find_results(results):
        one = read_submission(path)
        checked = check(one, built)
        if again and not checked.refused:
            checked = _recomputed(one, checked, again, seed, model, receipt=receipt)
        found.append(checked)
        if not as_json:
            _tell(checked)
    if any(one.refused for one in found):
        _refuse(found, as_json=as_json)
    if as_json:
        print_json([_as_json(one) for one in found])
    if any(one.open for one in found):
        raise typer.Exit(PARTLY)


@app.command("page")
def page_command(
    results: Results,
    out: Annotated[
        Path, typer.Option(help="File for the page: .html, .md (with drawings beside it) or .json.")
    ] = Path("leaderboard.html"),
    as_json: AsJson = False,
) -> None:
    """Check all results and write the page of them; if one is refused, nothing is written.

    Example: scaleqa leaderboard page results --out leaderboard.html
    """
    if out.suffix not in (".html", ".md", ".json"):
        raise DataError(f"{out} is neither .html nor .md nor .json; choose one of these endings")
    require_writable(out)
    built: dict[str, tuple[Package, ...]] = {}
    paths = find_results(results)
    entries: list[Entry] = []
    with progress_bar("checking") as advance:
        for number, path in enumerate(paths, 1):
            one = read_submission(path)
            entries.append(Entry(submission=one, checked=check(one, built)))
            advance(number, len(paths))
    if any(entry.checked.refused for entry in entries):
        _refuse([entry.checked for entry in entries], as_json=as_json)
    page = leaderboard_page(entries)
    if as_json:
        print_json(to_json(page))
        return
    if out.suffix == ".md":
        write_markdown(page, out)
    else:
        text = to_html(page) if out.suffix == ".html" else _document(to_json(page))
        write_whole(out, text.encode())
    say(f"wrote {out}: {len(entries)} results")


@app.command()
def schema(as_json: AsJson = False) -> None:
    """Print the JSON Schema of result.json; --json changes nothing.

    Example: scaleqa leaderboard schema
    """
    print_json(json_schema())


def _recomputed(
    one: Submission, checked: Checked, again: int, seed: int, model: str | None, *, receipt: bool
) -> Checked:
    with progress_bar(one.name) as advance:
        finding = recompute(
            one,
            checked.packages,
            open_embedder(model, cached=True),
            questions=again,
            seed=seed,
            progress=advance,
        )
    if receipt and finding.state is State.HOLDS:
        noted = Receipt(
            rows_sha256=one.rows_sha256,
            scaleqa=__version__,
            questions=min(again, len(one.rows)),
            seed=seed,
        )
        write_receipt(one.path, noted)
    return replace(checked, findings=(*checked.findings, finding))


def _refuse(found: list[Checked], *, as_json: bool) -> None:
    """Ends with what differs.

    Raises:
        InvalidError: Always, but with JSON that has been printed.
    """
    wrong = [one for one in found if one.refused]
    if as_json:
        print_json([_as_json(one) for one in found])
    lines = [f"{one.name}: {f.about}: {f.words}" for one in wrong for f in one.refused]
    message = f"{len(wrong)} of {len(found)} results refused: " + "\n".join(lines)
    raise failed(InvalidError(message), as_json=as_json)


def _tell(checked: Checked) -> None:
    verdict = "refused" if checked.refused else "partly checked" if checked.open else "follows"
    say(f"{checked.name}: {verdict}")
    for one in checked.findings:
        say(f"  {one.about}: {one.state}: {one.words}")


def _as_json(checked: Checked) -> dict[str, Any]:
    findings = [
        {"about": one.about, "state": one.state, "words": one.words} for one in checked.findings
    ]
    return {"result": checked.name, "refused": bool(checked.refused), "findings": findings}


def _document(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"
