"""`scaleqa review`: people accept, edit or reject records on pages of this machine."""

from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from scaleqa.cli.desks import DeskPort, announce, require_desk
from scaleqa.errors import DataError
from scaleqa.records import load_records
from tsim.cli.shell import AsJson, print_json, progress_bar, say, tell
from tsim.embed import open_embedder


class _Serving(TyperGroup):
    """Serves where no other command is named: `scaleqa review FILE` is `review serve FILE`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Returns the command that words name, or the one that serves."""
        named = args if args[0] in self.commands else ["serve", *args]
        return super().resolve_command(ctx, named)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Shows the help of the group, and then that of the command that serves."""
        super().format_help(ctx, formatter)
        serving = self.commands["serve"]
        serving.format_help(typer.Context(serving, info_name="serve", parent=ctx), formatter)


app = typer.Typer(
    cls=_Serving,
    no_args_is_help=True,
    context_settings={"ignore_unknown_options": True},
    help="Review records: people accept, edit or reject them.\n\n"
    "Example: scaleqa review records.jsonl --out review --reviewer ana\n\n"
    "Where no command is named, it is serve; its options are shown below.",
)


@app.command()
def serve(
    records: Annotated[Path, typer.Argument(help="File or directory of records.")],
    out: Annotated[Path, typer.Option(help="Directory of the review; continued if it exists.")],
    reviewer: Annotated[
        list[str], typer.Option(help="Name of somebody who reviews; may be repeated.")
    ],
    adjudicator: Annotated[
        str | None, typer.Option(help="Name of who decides where reviewers differ.")
    ] = None,
    each: Annotated[int, typer.Option(help="Reviewers of each record.")] = 1,
    blind: Annotated[
        bool,
        typer.Option("--blind/--open", help="Hide the answer until a reviewer has chosen one."),
    ] = True,
    readings: Annotated[
        list[Path] | None, typer.Option(help="A file of readers' answers; may be repeated.")
    ] = None,
    embeddings: Annotated[
        bool, typer.Option(help="Find near records and shortcuts by meaning, too.")
    ] = True,
    port: DeskPort = 8770,
    as_json: AsJson = False,
) -> None:
    """Serve the pages of a review on this machine, with a link for each person.

    Example: scaleqa review serve records.jsonl --out review --reviewer ana --reviewer ben --each 2
    --adjudicator eva
    """
    require_desk()
    from scaleqa.desk import create_app, hold
    from scaleqa.desk import serve as serve_desk
    from scaleqa.review import opening
    from scaleqa.review.beside import Shelf, embed_all, load_readings

    found = load_records(records)
    missing = [str(file) for file in readings or () if not file.is_file()]
    if missing:
        raise DataError(f"{missing[0]} does not exist; --readings names a JSONL file")
    answers = load_readings(readings or ())
    people = opening.people_of(reviewer, adjudicator)
    wanted = opening.settings_of(found, people, each=each, blind=blind)
    with closing(hold(port)) as listening:
        embedder = open_embedder(cached=True) if embeddings else None
        if embedder is not None:
            embedder.embed_query("ready")  # a missing model is said before anything is written
        with opening.opened(out, found, wanted, told=lambda text: tell(text, "yellow")) as review:
            if embedder is not None:
                with progress_bar("embedding records") as report:
                    embed_all(found, embedder, report)
            tell("comparing records")
            shelf = Shelf(found, embedder=embedder, readings=answers)
            admitted = review.admitted(people)
            desk = review.desk(admitted, shelf)

            def started(url: str) -> None:
                roles = {person.name: person.role for person in people}
                announce(admitted.links(url), roles, as_json=as_json)

            serve_desk(create_app(desk), listening, started=started)


@app.command()
def export(
    review: Annotated[Path, typer.Argument(help="Directory of a review.")],
    out: Annotated[
        Path | None, typer.Option(help="Directory for the files; REVIEW/export by default.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write receipts, the records that were accepted or edited, and a summary.

    Example: scaleqa review export review --out reviewed
    """
    require_desk()
    from scaleqa.review.exporting import export_review
    from scaleqa.review.summary import lines

    place = out or review / "export"
    summary = export_review(review, place)
    if as_json:
        print_json(summary.model_dump())
        return
    for line in lines(summary):
        say(line)
    tell(f"wrote receipts.jsonl, records.jsonl and summary.json to {place}")
