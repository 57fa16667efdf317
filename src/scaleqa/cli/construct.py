"""`scaleqa construct`: from a plan to released records."""

import shlex
from contextlib import ExitStack, closing
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from scaleqa.backends import Access, Limiter, Stop, open_chat
from scaleqa.cli.arguments import require_writable, resumable
from scaleqa.construct import (
    EXAMPLE,
    Budget,
    BudgetError,
    Crew,
    Funnel,
    Gate,
    Plan,
    Site,
    carry_out,
    funnel,
    load_plan,
    opened,
    read_site,
    spent,
    write_release,
)
from scaleqa.construct import release as choose
from scaleqa.construct.files import due, export_file, export_folder, import_replies
from scaleqa.construct.pages import (
    compared,
    funnel_json,
    funnel_page,
    shares_table,
    spent_table,
    stages_table,
)
from scaleqa.construct.plan import Who
from scaleqa.errors import DataError
from scaleqa.evaluate.rowfile import write_whole
from scaleqa.pages.markdown import to_markdown
from scaleqa.pages.terminal import print_tables
from tsim.cli.shell import AsJson, hand_over, print_json, progress_bar, say, tell
from tsim.embed import open_embedder

app = typer.Typer(
    no_args_is_help=True,
    help="Construct records from a plan, with any model: write, check, read blind, mend, release.",
)

Directory = Annotated[
    Path, typer.Argument(help="Directory that was given as --out.", show_default=False)
]
Dollars = Annotated[float | None, typer.Option(min=0, help="Budget in US dollars.")]
Tokens = Annotated[int | None, typer.Option(min=0, help="Budget in tokens.")]
Calls = Annotated[int | None, typer.Option(min=0, help="Budget in requests.")]


@app.command("plan")
def plan_command(
    out: Annotated[Path | None, typer.Option(help="File to write; printed by default.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write an example of a plan.

    Example: scaleqa construct plan --out plan.toml
    """
    if out:
        require_writable(out)
        if out.exists():
            raise DataError(f"{out} is there already; name a new file")
        out.write_text(EXAMPLE, encoding="utf-8")
    if as_json:
        print_json({"path": str(out) if out else None, "plan": EXAMPLE})
    elif out:
        say(f"Wrote {out}; next: scaleqa construct run {out} --out construction")
    else:
        hand_over(EXAMPLE)


@app.command("run")
def run_command(
    plan: Annotated[Path, typer.Argument(help="The plan, a TOML or JSON file.")],
    out: Annotated[Path, typer.Option(help="Directory; an interrupted run continues there.")],
    dollars: Dollars = None,
    tokens: Tokens = None,
    calls: Calls = None,
    as_json: AsJson = False,
) -> None:
    """Carry out a plan, or continue with it; ends with 4 if the budget is spent.

    Example: scaleqa construct run plan.toml --out construction
    """
    if not plan.is_file():
        raise DataError(f"{plan} does not exist; an example is written by: scaleqa construct plan")
    given = load_plan(plan)
    allowed = given.budget.model_dump() | {
        name: value
        for name, value in (("dollars", dollars), ("tokens", tokens), ("calls", calls))
        if value is not None
    }
    stop = Stop(tell)
    with resumable(out), opened(out, given, base=plan.parent) as site:
        site.embedder = open_embedder(given.embedder, cached=True) if given.embedder else None
        try:
            waiting = _carry_out(site, given, Budget.model_construct(**allowed), stop)
        except BudgetError as error:
            if not as_json:
                raise
            found = funnel(site.book, site.ledger.receipts)
            print_json({"outcome": "budget", "message": str(error), **funnel_json(found)})
            raise typer.Exit(BudgetError.exit_code) from None
        found = funnel(site.book, site.ledger.receipts)
    if as_json:
        outcome = "waiting" if waiting else "done"
        print_json({"outcome": outcome, "step": waiting, **funnel_json(found)})
        return
    _show(found)
    if waiting:
        say(
            f"Waiting for replies by file at step {waiting}; next: scaleqa construct export {out} "
            "--to FOLDER"
        )
    else:
        say(f"Done; next: scaleqa construct release {out} --to records.jsonl")


def _carry_out(site: Site, plan: Plan, budget: Budget, stop: Stop) -> str | None:
    pace = Limiter(plan.rpm) if plan.rpm else None
    gate = Gate(budget, spent(site.ledger.receipts), stop, pace)
    access = Access(key_variable=plan.models.key_env, limiter=gate, cached=False, stop=stop)
    roles: tuple[Who, ...] = ("writer", "reader")
    with ExitStack() as stack:
        models = {
            who: stack.enter_context(closing(open_chat(plan.models.spec(who), access)))
            for who in roles
            if not plan.models.by_file(who)
        }
        return carry_out(site, Crew(models=models, gate=gate, stop=stop), progress_bar)


@app.command("status")
def status_command(
    directory: Directory,
    out: Annotated[Path | None, typer.Option(help="File for the funnel as Markdown.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show how far a construction is: the funnel, readings, and what was spent.

    Example: scaleqa construct status construction --out funnel.md
    """
    require_writable(out)
    site = read_site(directory)
    found = funnel(site.book, site.ledger.receipts)
    if out:
        page = funnel_page(site.book.plan, found)
        write_whole(out, to_markdown(page, out.stem).encode())
    if as_json:
        print_json(funnel_json(found))
        return
    _show(found)
    if found.waiting:
        say(f"At step {found.waiting}, {len(site.book.due(found.waiting))} requests are open.")


@app.command("export")
def export_command(
    directory: Directory,
    to: Annotated[
        Path, typer.Option(help="Folder for one file per request, or a .jsonl file for all.")
    ],
    stage: Annotated[
        str | None, typer.Option(help="Only requests of this kind, such as open or closed.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the requests that are open, for people or models without an API.

    Example: scaleqa construct export construction --stage open --to open/
    """
    with opened(directory) as site:
        tickets = due(site, stage)
        if tickets and to.suffix == ".jsonl":
            export_file(site, tickets, to)
        elif tickets:
            export_folder(site, tickets, to)
        step = site.book.current
    kinds = sorted({ticket.ask.name for ticket in tickets})
    if as_json:
        print_json({"path": str(to), "step": step, "stages": kinds, "requests": len(tickets)})
    elif tickets:
        say(f"Wrote {len(tickets)} requests ({', '.join(kinds)}) to {to}.")
        if to.suffix == ".jsonl":
            say(f"Next, with what comes back: scaleqa construct import {directory} ANSWERS.jsonl")
        else:
            say("Put the reply to KEY.txt into KEY.json beside it.")
            say(f"Next: scaleqa construct import {directory} {to}")
    else:
        say(f"Nothing of that kind is open; the construction is at step {step or 'done'}.")


@app.command("import")
def import_command(
    directory: Directory,
    replies: Annotated[list[Path], typer.Argument(help="Folders of replies, or files of lines.")],
    by: Annotated[str | None, typer.Option(help="Who replied, for the receipts.")] = None,
    as_json: AsJson = False,
) -> None:
    """Take replies, and decide what can be decided with them.

    Example: scaleqa construct import construction open/ closed/ --by reader-2
    """
    with opened(directory) as site:
        if site.book.plan.embedder:
            site.embedder = open_embedder(site.book.plan.embedder, cached=True)
        found = import_replies(site, replies, by)
        step = site.book.current
        left = len(site.book.due(step)) if step else 0
    if as_json:
        refused = [asdict(one) | {"dropped": one.last} for one in found.refused]
        print_json({"taken": found.taken, "refused": refused, "step": step, "open": left})
        return
    for one in found.refused:
        say(f"{one.key} was not accepted, which counts as a try ({one.tries} of {one.most}):")
        for reason in one.reasons:
            say(f"  {reason}")
        say("  The item is dropped." if one.last else "  It will be asked anew, under another key.")
    taken = f"Took {found.taken} replies"
    if found.refused:
        taken += f", of which {len(found.refused)} not accepted"
    if step:
        say(f"{taken}; at step {step}, {left} requests are open.")
    else:
        say(f"{taken}; all is done: scaleqa construct release {directory} --to FILE")


@app.command("release")
def release_command(
    directory: Directory,
    to: Annotated[Path, typer.Option(help="File for what is released, such as records.jsonl.")],
    as_json: AsJson = False,
) -> None:
    """Validate what has passed and write it, with receipts of the draw, readings and the funnel.

    Example: scaleqa construct release construction --to released/records.jsonl
    """
    site = read_site(directory)
    plan = site.book.plan
    embedder = open_embedder(plan.embedder, cached=True) if plan.embedder else None
    found = choose(site.book, embedder)
    files = write_release(found, site.book, to)
    page = funnel_page(plan, funnel(site.book, site.ledger.receipts))
    files.append(to.with_name("funnel.md"))
    write_whole(files[-1], to_markdown(page, "funnel").encode())
    if as_json:
        warnings = [f"{one.code}: {one.where}: {one.message}" for one in found.report.warnings]
        print_json(
            {"items": len(found.items), "files": [str(f) for f in files], "warnings": warnings}
        )
        return
    for one in found.report.warnings[:40]:
        say(f"warning: {one.code}: {one.where}: {one.message}")
    say(f"Released {len(found.items)} {plan.track} to {', '.join(str(file) for file in files)}")
    if plan.track == "records":
        cells = "".join(f" --cell {cell}" for cell in sorted(plan.cells))
        say(f"Next: scaleqa data validate {shlex.quote(str(to))}{cells}")


@app.command("compare")
def compare_command(
    first: Annotated[Path, typer.Argument(help="Directory of the first construction.")],
    second: Annotated[Path, typer.Argument(help="Directory of the second construction.")],
    as_json: AsJson = False,
) -> None:
    """Compare two constructions: acceptance, and accuracy of readers with and without dialogues.

    Example: scaleqa construct compare options-first/ dialogue-first/
    """
    sites = [read_site(first), read_site(second)]
    funnels = [funnel(site.book, site.ledger.receipts) for site in sites]
    names = _names(first, second)
    table = compared(names, funnels)
    if as_json:
        found: dict[str, Any] = {"rows": [dict(row) for row in table.rows]}
        found["constructions"] = [
            {"path": str(path), "order": site.book.plan.order, **funnel_json(one)}
            for path, site, one in zip((first, second), sites, funnels, strict=True)
        ]
        print_json(found)
        return
    print_tables(table)
    for name, site, one in zip(names, sites, funnels, strict=True):
        say(f"\n{name}: {site.book.plan.track}, {site.book.plan.order}")
        print_tables(stages_table(one))
    say("Intervals are Wilson's, those of differences Newcombe's.")


def _names(first: Path, second: Path) -> tuple[str, str]:
    one, two = first.resolve().name, second.resolve().name
    return (one, two) if one != two else (str(first), str(second))


def _show(found: Funnel) -> None:
    print_tables(stages_table(found), shares_table(found), spent_table(found))
    say(f"{found.begun} items begun, {found.released} released, {found.dropped} dropped.")
