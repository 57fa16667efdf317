"""`scaleqa audit`: people rate items blindly, and what they say is analysed."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from scaleqa.audit.analysis.findings import find
from scaleqa.audit.analysis.page import audit_page
from scaleqa.audit.export import exported, write_export
from scaleqa.audit.files import keep_address, kept_address, read_plan, write_plan
from scaleqa.audit.items import Plan
from scaleqa.audit.judgements import Judgement
from scaleqa.audit.planning import Sampling, certain_ids, make_plan
from scaleqa.audit.sources import Lengths, from_corpus, from_dataset, from_records
from scaleqa.cli.arguments import require_writable
from scaleqa.cli.desks import DeskPort, require_desk
from scaleqa.errors import DataError
from scaleqa.pages.html import to_html
from scaleqa.pages.json import to_json
from scaleqa.pages.latex import to_latex
from scaleqa.pages.markdown import write_markdown
from scaleqa.pages.page import Notes, Page, Paragraph, flat
from scaleqa.pages.table import listing
from scaleqa.pages.terminal import print_tables
from scaleqa.records import SPLITS, Record, load_records, shipped
from scaleqa.records.calibration import Answer, read_answers
from scaleqa.records.load import data_dir
from scaleqa.records.readings import Reading, shipped_third_readings
from scaleqa.records.schema import THIRD
from tsim.cli.shell import AsJson, print_json, say, tell
from tsim.ports import address, is_loopback

HOST = "127.0.0.1"
PORT = 8780
ENDINGS = (".html", ".md", ".tex")
app = typer.Typer(no_args_is_help=True, help="A human audit: plan, invite, serve, report, export.")
Directory = Annotated[
    Path, typer.Argument(metavar="DIR", help="The directory of the audit.", show_default=False)
]
DEFAULTS = Sampling()


@app.command("plan")
def plan_command(
    out: Annotated[Path, typer.Option(help="Directory for the audit.", show_default=False)],
    items: Annotated[
        int, typer.Option(min=1, help="Our records with question and options.")
    ] = DEFAULTS.items,
    chats: Annotated[
        list[str] | None,
        typer.Option(help="A corpus of real chats, as FORMAT:file=PATH; may be repeated."),
    ] = None,
    questions: Annotated[
        list[str] | None,
        typer.Option(help="Another benchmark, such as longmemeval:file=PATH; may be repeated."),
    ] = None,
    each: Annotated[
        int, typer.Option(min=1, help="Items of each corpus and benchmark, and as many of ours.")
    ] = DEFAULTS.each,
    most_tokens: Annotated[
        int, typer.Option(min=50, help="Longest dialogue of other sources, in tokens.")
    ] = Lengths().most_tokens,
    gold: Annotated[
        int, typer.Option(min=0, help="Items with a known answer, for all raters.")
    ] = DEFAULTS.gold,
    attention: Annotated[
        int, typer.Option(min=0, help="Items that say what to answer, for all raters.")
    ] = DEFAULTS.attention,
    raters: Annotated[int, typer.Option(min=1, help="Number of raters.")] = DEFAULTS.raters,
    per_item: Annotated[
        int | None, typer.Option(min=1, help="Raters per item; all by default.")
    ] = None,
    core: Annotated[
        int, typer.Option(min=0, help="Items that all raters rate, if each item has fewer.")
    ] = DEFAULTS.core,
    records: Annotated[
        Path | None, typer.Option(help="A file or directory of records instead of ours.")
    ] = None,
    split: Annotated[
        list[str] | None,
        typer.Option(help="A split of the records; by default s1 and s2. May be repeated."),
    ] = None,
    known: Annotated[
        Path | None,
        typer.Option(help="Records whose answers are certain, among these, for gold items."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed for everything that is drawn.")] = DEFAULTS.seed,
    as_json: AsJson = False,
) -> None:
    """Draw the items of an audit and deal them out to raters.

    Example: scaleqa audit plan --items 300 --chats oasst:file=trees.jsonl --out audits/first
    """
    lengths = Lengths(most_tokens=most_tokens)
    own = _records(records, split or SPLITS)
    if known is not None:
        certain = [record.id for record in load_records(known)]
    else:
        read: list[Answer | Reading] = [
            *read_answers(data_dir() / "calibration.jsonl"),
            *shipped_third_readings(),
        ]
        certain = certain_ids(own, read)
    others = [
        *(from_corpus(one, lengths) for one in chats or ()),
        *(from_dataset(one, lengths) for one in questions or ()),
    ]
    sampling = Sampling(
        items=items,
        each=each,
        gold=gold,
        attention=attention,
        raters=raters,
        per_item=raters if per_item is None else per_item,
        core=core,
        seed=seed,
    )
    plan = make_plan(from_records(own), others, certain, sampling)
    path = write_plan(plan, out)
    facts = _facts(plan)
    if as_json:
        print_json({"plan": str(path), "sha256": plan.sha256, **facts})
        return
    print_tables(listing(facts["sources"]), listing(facts["items"]), listing(facts["raters"]))
    tell(f"next: scaleqa audit invite {out}, then scaleqa audit serve {out}")


@app.command("invite")
def invite_command(
    directory: Directory,
    raters: Annotated[
        int | None,
        typer.Option(min=0, help="How many raters have a link in the end; all of the plan."),
    ] = None,
    replace: Annotated[
        list[int] | None,
        typer.Option(help="Rater whose link is replaced by a new one; may be repeated."),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=65535,
            help=f"The port of the server on this machine; the last one served, or {PORT}.",
        ),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(help="The address by which raters reach the server, instead of --port."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print a link for each new rater. Links are shown once: only their hashes are kept.

    With --replace alone, nobody else is invited.

    Example: scaleqa audit invite audits/first
    """
    require_desk()
    from scaleqa.audit.invitations import invite, link
    from scaleqa.audit.serving import check_url

    if port is not None and url is not None:
        raise DataError("--port and --url are two addresses of one server; name one of them")
    plan = read_plan(directory)
    if port is not None:
        url = address(HOST, port)
    where = check_url(url or kept_address(directory) or address(HOST, PORT))
    if raters is None:
        raters = 0 if replace else len(plan.orders)
    tokens = invite(directory, plan, raters=raters, replace=replace or (), url=where)
    links = {rater: link(where, rater, token) for rater, token in tokens.items()}
    if as_json:
        print_json([{"rater": rater, "link": one} for rater, one in links.items()])
        return
    for rater, one in links.items():
        say(f"rater {rater}  {one}")
    if links:
        tell("send each rater their own link, which is like a password; it is not shown again")
    else:
        tell("nobody new was invited; --replace makes a new link for a rater")


@app.command("serve")
def serve_command(
    directory: Directory,
    port: DeskPort = PORT,
    host: Annotated[str, typer.Option(help="The address of this machine to listen on.")] = HOST,
    url: Annotated[
        str | None, typer.Option(help="The address by which raters on other machines reach it.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Serve the pages of raters until Ctrl-C.

    Example: scaleqa audit serve audits/first
    """
    require_desk()
    from scaleqa.audit.invitations import linked
    from scaleqa.audit.serving import check_url, elsewhere, opened
    from scaleqa.desk import hold, serve

    if not is_loopback(host) and url is None:
        raise DataError(
            f"--host {host} is reached from other machines; say by which address with --url, such "
            "as https://audit.example.org"
        )

    def started(served: str) -> None:
        where = check_url(url or served)
        keep_address(directory, where)
        _tell_lost(directory, elsewhere(linked(directory), where))
        if as_json:
            print_json({"url": where})
        else:
            tell(f"raters are welcome at {where}, each by their own link · Ctrl-C stops")

    with closing(hold(port, host)) as listening, opened(directory, url=url, told=tell) as pages:
        serve(pages, listening, started=started)


@app.command("status")
def status_command(directory: Directory, as_json: AsJson = False) -> None:
    """Show how far each rater is; ratings may be under way.

    Example: scaleqa audit status audits/first
    """
    plan = read_plan(directory)
    said = _judgements(directory, plan)
    rows = [
        {
            "rater": rater,
            "rated": sum(one.rater == rater for one in said),
            "of": len(order),
        }
        for rater, order in enumerate(plan.orders, 1)
    ]
    if as_json:
        print_json(rows)
    else:
        print_tables(listing(rows))


@app.command("report")
def report_command(
    directory: Directory,
    out: Annotated[
        Path | None, typer.Option(help="File for the page: .md, .html, or .tex for the tables.")
    ] = None,
    items: Annotated[bool, typer.Option(help="List every item.")] = False,
    without: Annotated[
        list[int] | None, typer.Option(help="Rater to leave out; may be repeated.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap intervals.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Analyse the ratings, beside the paper's figures.

    Example: scaleqa audit report audits/first --out audit.md
    """
    if out is not None and out.suffix not in ENDINGS:
        raise DataError(f"{out} ends in none of {', '.join(ENDINGS)}; choose one of them")
    require_writable(out)
    plan = read_plan(directory)
    found = find(plan, _judgements(directory, plan), without=without or (), seed=seed)
    page = audit_page(found, items=items or as_json)
    if out is not None:
        _write(page, out)
    if as_json:
        print_json(to_json(page))
    elif out is not None:
        say(f"wrote {out}")
    else:
        _show(page)


@app.command("export")
def export_command(
    directory: Directory,
    out: Annotated[Path, typer.Argument(help="File for the ratings, as JSON lines.")],
    comments: Annotated[bool, typer.Option(help="Include what raters wrote.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write the raw ratings without identities, times of day and comments.

    Example: scaleqa audit export audits/first ratings.jsonl
    """
    require_writable(out)
    plan = read_plan(directory)
    lines = exported(_judgements(directory, plan), comments=comments)
    write_export(lines, out)
    if as_json:
        print_json({"path": str(out), "ratings": len(lines)})
    else:
        say(f"wrote {len(lines)} ratings to {out}")


def _records(path: Path | None, splits: Sequence[str]) -> list[Record]:
    if path is not None:
        return load_records(path)
    found = {name: shipped(name) for name in splits}
    for name, records in found.items():
        if not records:
            raise DataError(
                f"there is no split {name!r:.40}; there are {', '.join((*SPLITS, THIRD))}"
            )
    return [record for records in found.values() for record in records]


def _judgements(directory: Path, plan: Plan) -> list[Judgement]:
    require_desk()
    from scaleqa.audit.book import read_judgements

    return read_judgements(directory, plan)


def _tell_lost(directory: Path, lost: Mapping[int, str]) -> None:
    for url in sorted({*lost.values()}):
        who = [rater for rater in lost if lost[rater] == url]
        again = " ".join(f"--replace {rater}" for rater in who)
        tell(
            f"the links of raters {', '.join(map(str, who))} lead to {url}, and not here; serve "
            "that address with --port or --url, or make new links with: scaleqa audit invite "
            f"{directory} {again}"
        )


def _facts(plan: Plan) -> dict[str, Any]:
    kinds = sorted({(one.purpose, one.form, one.origin.source) for one in plan.items})
    return {
        "sources": [
            {
                "source": one.source,
                "candidates": one.candidates,
                "drawn": one.drawn,
                "left_out": ", ".join(f"{n} {reason}" for reason, n in one.left_out.items()),
            }
            for one in plan.sources
        ],
        "items": [
            {
                "purpose": kind[0],
                "shown": kind[1],
                "source": kind[2],
                "items": sum((i.purpose, i.form, i.origin.source) == kind for i in plan.items),
            }
            for kind in kinds
        ],
        "raters": [
            {"rater": rater, "items": len(order)} for rater, order in enumerate(plan.orders, 1)
        ],
    }


def _write(page: Page, out: Path) -> None:
    if out.suffix == ".md":
        write_markdown(page, out)
    else:
        text = to_html(page) if out.suffix == ".html" else to_latex(page)
        out.write_text(text, encoding="utf-8", newline="\n")


def _show(page: Page) -> None:
    print_tables(*page.tables)
    blocks = [*page.introduction, *(block for section in page.sections for block in section.blocks)]
    for block in flat(blocks):
        if isinstance(block, Paragraph):
            tell(block.text.replace("**", ""))
        elif isinstance(block, Notes):
            for item in block.items:
                tell(item)
