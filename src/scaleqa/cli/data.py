"""`scaleqa data`: the records, their validation and their card."""

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from scaleqa.cli.style import style_command
from scaleqa.cli.third import release_third_command
from scaleqa.cli.tracks import release_tracks
from scaleqa.errors import DataError, InvalidError
from scaleqa.pages.forms import text
from scaleqa.pages.table import Column, Table, interval, listing
from scaleqa.pages.terminal import print_tables
from scaleqa.records import (
    THIRD,
    Record,
    shipped,
    shipped_asides,
    shipped_sequels,
    shipped_talk,
    shipped_wordings,
)
from scaleqa.records.calibration import Calibration, calibrate, read_answers
from scaleqa.records.card import card as write_card
from scaleqa.records.card import report_json, stats
from scaleqa.records.draw import draw, read_cells, read_ledger
from scaleqa.records.load import (
    CALIBRATION,
    FUNNELS,
    THIRD_FUNNEL,
    THIRD_VALIDATION,
    Supplements,
    data_dir,
    read_records,
    read_supplements,
    record_files,
)
from scaleqa.records.readings import (
    Judged,
    correct_letters,
    is_aside_id,
    judge,
    shipped_third_readings,
    shipped_track_readings,
)
from scaleqa.records.release import release
from scaleqa.records.schema import CELLS
from scaleqa.records.sequels import shipped_readings
from scaleqa.records.talk_readings import TalkJudged, judge_talk, shipped_talk_readings
from scaleqa.records.third_card import ThirdFacts
from scaleqa.records.track_card import TrackFacts
from scaleqa.records.validate import Validation, validate
from tsim.cli.shell import AsJson, failed, print_json, say
from tsim.embed import open_embedder

app = typer.Typer(no_args_is_help=True, help="Records: validate, stats, show, card, draw.")

PROBES = (
    Column(key="name", head="shortcut probe", form=text),
    Column(key="accuracy", head="accuracy"),
    interval("interval"),
    Column(key="limit", head="at most", form=str),
)
PAIRS = (
    Column(key="measure", head="closest pairs", form=text),
    Column(key="one", head="record", form=text),
    Column(key="two", head="record", form=text),
    Column(key="value", head="value"),
)
Declared = Annotated[
    list[str],
    typer.Option("--cell", help="A cell of your own, such as own:Gardening; may be repeated."),
]
PathArgument = Annotated[
    Path | None, typer.Argument(help="A JSONL file or directory; the built-in records by default.")
]


@app.command("validate")
def validate_command(
    path: PathArgument = None,
    draws: Annotated[Path | None, typer.Option(help="Receipts of the draw (draws.jsonl).")] = None,
    embeddings: Annotated[
        bool, typer.Option(help="Check semantic similarity too (embeds every record once).")
    ] = True,
    cell: Declared = [],  # noqa: B006
    split: Annotated[
        str | None, typer.Option(help="A split of the built-in records, such as s3.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check records and tracks: shape, evidence, balance, receipts, duplicates, shortcuts.

    Example: scaleqa data validate my_records.jsonl --no-embeddings
    """
    _, report = _validate(path, draws, embeddings, split, read_cells(cell))
    if as_json:
        print_json(asdict(report))
    else:
        _show_report(report)
    if report.critical:
        message = f"{len(report.critical)} critical findings; see the list above"
        raise failed(InvalidError(message), as_json=as_json)


@app.command("stats")
def stats_command(path: PathArgument = None, as_json: AsJson = False) -> None:
    """Count records, letters, evidence, lengths, stress labels and what belongs to the records.

    Example: scaleqa data stats --json
    """
    facts = stats(_records(path), read_supplements(path)[0])
    if as_json:
        print_json(facts)
        return
    rows = []
    for name, value in facts.items():
        some = ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else value
        rows.append({"what": name.replace("_", " "), "value": str(some)})
    print_tables(listing(rows))


@app.command()
def show(
    record_id: Annotated[str, typer.Argument(metavar="ID", help="For example s1:Finance-017.")],
    path: Annotated[
        Path | None,
        typer.Option(help="File or directory of records to use instead of the built-in ones."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print one record, with its evidence marked.

    Example: scaleqa data show s1:Finance-017
    """
    every = _records(path) if path else [*shipped(), *shipped(THIRD)]
    found = [record for record in every if record.id == record_id]
    if not found:
        raise DataError(f"there is no record {record_id!r}; ids look like s1:Finance-017")
    record = found[0]
    if as_json:
        print_json(record.model_dump())
        return
    for number, turn in enumerate(record.dialogue):
        mark = "*" if number in record.evidence else " "
        say(f"{mark} [{number}] {turn.role}: {turn.content}")
    say(f"\n{record.question}")
    for letter, option in record.options.model_dump().items():
        say(f"{'>' if letter == record.answer else ' '} {letter}) {option}")
    say(f"\n{record.reasoning}  ({', '.join(record.stress.labels)})")


@app.command("card")
def card_command(
    out: Annotated[Path | None, typer.Option(help="Directory for the files.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write the dataset card and the validation report of the shipped records.

    Example: scaleqa data card --out docs
    """
    records, report = _validate(None, None, embeddings=True)
    data = report_json(records, report)
    further = third_report()
    text = current_card(records, data, further)
    if out:
        out.mkdir(parents=True, exist_ok=True)
        (out / "dataset.md").write_text(text, encoding="utf-8")
        for name, content in (("validation.json", data), (THIRD_VALIDATION, further)):
            body = json.dumps(content, ensure_ascii=False, indent=1, sort_keys=True)
            (out / name).write_text(body + "\n", encoding="utf-8")
    if as_json:
        print_json(data)
    elif not out:
        say(text)


@app.command("draw")
def draw_command(
    frozen: Annotated[Path, typer.Argument(help="JSONL file with id, question and options.")],
    cell: Declared = [],  # noqa: B006
    as_json: AsJson = False,
) -> None:
    """Draw the correct letters for questions whose options are frozen.

    Example: scaleqa data draw frozen.jsonl
    """
    if not frozen.is_file():
        raise DataError(f"{frozen} does not exist")
    receipts = draw(frozen, frozen.with_name("draws.jsonl"), read_cells(cell))
    if as_json:
        print_json([receipt.model_dump() for receipt in receipts])
    else:
        for receipt in receipts:
            say(receipt.id, receipt.letter)


@app.command("release")
def release_command(
    authored: Annotated[Path, typer.Argument(help="Directory of authored records.")],
    out: Annotated[Path, typer.Argument(help="Directory for the split/domain files.")],
    as_json: AsJson = False,
) -> None:
    """Choose a balanced release from authored records and renumber it.

    Example: scaleqa data release authored/ released/
    """
    chosen = release(_records(authored))
    for cell in sorted({(record.split, record.domain) for record in chosen}):
        path = out / cell[0] / f"{cell[1]}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [r.model_dump_json() + "\n" for r in chosen if (r.split, r.domain) == cell]
        path.write_text("".join(lines), encoding="utf-8")
    if as_json:
        print_json({"records": len(chosen), "path": str(out)})
    else:
        say(f"released {len(chosen)} records to {out}")


app.command("release-tracks")(release_tracks)
app.command("release-third")(release_third_command)
app.command("style")(style_command)


@app.command("calibration")
def calibration_command(as_json: AsJson = False) -> None:
    """Grade the raw answers of the blind readers.

    Example: scaleqa data calibration
    """
    records = shipped()
    found = calibration(records)
    tracks = track_readings(records)
    talk = talk_readings()
    if as_json:
        print_json(
            {
                "records": [asdict(one) for one in found],
                **{track: [asdict(one) for one in some] for track, some in tracks.items()},
                "talk": asdict(talk) if talk else None,
            }
        )
        return
    for one in found:
        flags = "; ".join(f"{flag} {len(ids)}" for flag, ids in one.flagged.items()) or "no flags"
        say(f"{one.mode} book: {one.right} of {one.records} correct ({one.accuracy:.1%}); {flags}")
    for track, some in tracks.items():
        for own in some:
            picked = "" if own.picked is None else f"{own.picked} picked the dialogue, "
            flags = "; ".join(f"{flag} {count}" for flag, count in own.flags.items()) or "no flags"
            say(
                f"{track}, {own.mode}: of {own.readings} readings {picked}{own.right} correct; "
                f"{flags}"
            )
    if talk:
        say(
            f"talk: of {talk.readings} readings {talk.clear} found the question clear; of "
            f"{talk.released} readings of released questions {talk.exact} named exactly the "
            "evidence"
        )


def current_card(
    records: Sequence[Record], report: dict[str, Any], further: dict[str, Any] | None = None
) -> str:
    """Returns the card of the shipped records, given their validation report.

    Args:
        records: The records of the first two splits.
        report: Their validation report.
        further: That of the third split; by default the one that ships.
    """
    own = shipped(THIRD)
    third = ThirdFacts(
        records=own,
        report=further or _document(THIRD_VALIDATION),
        funnel=_document(THIRD_FUNNEL),
        judged=third_readings(),
    )
    tracks = TrackFacts(
        wordings=shipped_wordings(),
        asides=shipped_asides(),
        talk=shipped_talk(),
        funnels=_document(FUNNELS),
        judged=track_readings(records),
        judged_talk=talk_readings(),
        third=third,
    )
    return write_card(
        records,
        report,
        calibration(records),
        funnel(),
        shipped_sequels(),
        shipped_readings(),
        tracks,
    )


def third_report() -> dict[str, Any]:
    """Validates the third split."""
    records, report = _validate(None, None, embeddings=True, split=THIRD)
    return report_json(records, report)


def third_readings() -> list[Judged]:
    """Grades the readings of the third split that ship, also of what was left out."""
    receipts = [r for ledger in _ledgers(None, None) for r in read_ledger(ledger)]
    return judge(shipped_third_readings(), {r.id: str(r.letter) for r in receipts})


def calibration(records: Sequence[Record]) -> list[Calibration]:
    """Grades the answers that ship with the records."""
    file = data_dir() / CALIBRATION
    return calibrate(records, read_answers(file)) if file.is_file() else []


def track_readings(records: Sequence[Record]) -> dict[str, list[Judged]]:
    """Grades the readings of second wordings and of asides that ship with the records."""
    receipts = [r for ledger in _ledgers(None, None) for r in read_ledger(ledger)]
    letters = correct_letters(records, receipts)
    readings = shipped_track_readings()
    return {
        "second wordings": judge([r for r in readings if not is_aside_id(r.id)], letters),
        "asides": judge([r for r in readings if is_aside_id(r.id)], letters),
    }


def talk_readings() -> TalkJudged | None:
    """Counts what readers of the shipped lives found; None if no readings ship."""
    return judge_talk(shipped_talk_readings(), shipped_talk())


def funnel() -> dict[str, int]:
    """Returns how many records each stage of construction kept."""
    return _document("funnel.json")


def _document(name: str) -> dict[str, Any]:
    file = data_dir() / name
    return dict(json.loads(file.read_text("utf-8"))) if file.is_file() else {}


def _records(path: Path | None) -> list[Record]:
    if path is None:
        return shipped()
    return read_records(record_files(path))[0]


def _validate(
    path: Path | None,
    draws: Path | None,
    embeddings: bool,
    split: str | None = None,
    declared: Collection[str] = (),
) -> tuple[list[Record], Validation]:
    if split is not None and (path is not None or split not in CELLS):
        raise DataError(f"--split is for built-in records, and one of {', '.join(CELLS)}")
    records, bad = (shipped(split), []) if path is None else read_records(record_files(path))
    ledgers = _ledgers(path, draws)
    # What belongs to records is checked with all of them.
    supplements, unread = read_supplements(path) if split is None else (Supplements(), [])
    receipts = [r for ledger in ledgers for r in read_ledger(ledger)] if ledgers else None
    embedder = open_embedder(cached=True) if embeddings else None
    report = validate(
        records,
        bad=[*bad, *unread],
        receipts=receipts,
        embedder=embedder,
        release=path is None and split in (None, THIRD),
        supplements=supplements,
        declared=declared,
    )
    return records, report


def _ledgers(path: Path | None, draws: Path | None) -> list[Path]:
    if draws:
        return [draws]
    place = Path(str(data_dir())) if path is None else path
    place = place if place.is_dir() else place.parent
    return sorted(place.rglob("draws.jsonl"))


def _show_report(report: Validation) -> None:
    for name, findings in (("critical", report.critical), ("warning", report.warnings)):
        for finding in findings[:40]:
            say(f"{name}: {finding.code}: {finding.where}: {finding.message}")
        if len(findings) > 40:
            say(f"… and {len(findings) - 40} more")
    print_tables(
        Table(columns=PROBES, rows=tuple(asdict(probe) for probe in report.probes)),
        Table(columns=PAIRS, rows=tuple(asdict(pair) for pair in report.closest)),
    )
    say(
        f"{report.records} records, letters {report.labels}, evidence {report.evidence_sizes}, "
        f"{report.sequels} sequels, {report.wordings} second wordings, {report.asides} asides, "
        f"{report.talk} lives: {len(report.critical)} critical, {len(report.warnings)} warnings"
    )
