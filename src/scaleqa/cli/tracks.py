"""`scaleqa data release-tracks`: choose second wordings, asides and talk to be released."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer
from pydantic import BaseModel

from scaleqa.pages.forms import count, text
from scaleqa.pages.table import Column, Table
from scaleqa.pages.terminal import print_tables
from scaleqa.records import shipped
from scaleqa.records.authored import read_authored
from scaleqa.records.draw import read_ledger
from scaleqa.records.load import (
    ASIDES,
    DRAWS,
    FUNNELS,
    TALK,
    TALK_READINGS,
    TRACK_READINGS,
    WORDINGS,
)
from scaleqa.records.readings import is_aside_id
from scaleqa.records.release import release_asides, release_talk, release_wordings
from scaleqa.records.track_card import stages
from tsim.cli.shell import AsJson, print_json, say

STAGES = (
    Column(key="stage", head="stage", form=text),
    Column(key="wordings", head="second wordings", form=count),
    Column(key="asides", head="asides", form=count),
    Column(key="talk", head="questions about lives", form=count),
)


def release_tracks(
    authored: Annotated[
        Path, typer.Argument(help="Directory with the work of authors and readers.")
    ],
    out: Annotated[Path, typer.Argument(help="Directory of the released records.")],
    as_json: AsJson = False,
) -> None:
    """Choose second wordings, asides and talk by their readings; write them beside the records.

    Example: scaleqa data release-tracks authored/ src/scaleqa/records/data
    """
    records = shipped()
    found = read_authored(authored, records)
    wordings = release_wordings(found.wordings, records, found.readings)
    asides = release_asides(found.asides, found.receipts, found.readings)
    talk = release_talk(found.lives, found.talk_readings)
    funnels = {"wordings": wordings.funnel, "asides": asides.funnel, "talk": talk.funnel}
    ledger = out / DRAWS
    kept = [r for r in read_ledger(ledger) if not is_aside_id(r.id)] if ledger.is_file() else []
    out.mkdir(parents=True, exist_ok=True)
    write_lines(out / WORDINGS, wordings.items)
    write_lines(out / ASIDES, asides.items)
    write_lines(out / TRACK_READINGS, found.readings)
    write_lines(out / TALK, talk.items)
    write_lines(out / TALK_READINGS, found.talk_readings)
    write_lines(ledger, [*kept, *found.receipts])
    (out / FUNNELS).write_text(json.dumps(funnels, indent=1) + "\n", encoding="utf-8")
    if as_json:
        print_json(funnels)
        return
    rows = [
        {"stage": stage, **{track: kept.get(stage) for track, kept in funnels.items()}}
        for stage in stages(funnels)
    ]
    print_tables(Table(columns=STAGES, rows=tuple(rows)))
    say(f"Wrote {WORDINGS}, {ASIDES} and {TALK} to {out}; next: scaleqa data card --out docs")


def write_lines(path: Path, items: Iterable[BaseModel]) -> None:
    """Writes models to a file, one a line."""
    lines = (item.model_dump_json() + "\n" for item in items)
    path.write_text("".join(lines), encoding="utf-8")
