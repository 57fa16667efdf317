"""`scaleqa data release-third`: choose the records of the third split to be released."""

import json
from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer

from scaleqa.cli.tracks import write_lines
from scaleqa.pages.table import listing
from scaleqa.pages.terminal import print_tables
from scaleqa.records.authored import read_third
from scaleqa.records.draw import read_ledger
from scaleqa.records.load import DRAWS, THIRD_FUNNEL, THIRD_READINGS
from scaleqa.records.release import release_third
from scaleqa.records.schema import THIRD
from tsim.cli.shell import AsJson, print_json, say


def release_third_command(
    authored: Annotated[
        Path, typer.Argument(help="Directory with the work of authors and readers.")
    ],
    out: Annotated[Path, typer.Argument(help="Directory of the released records.")],
    as_json: AsJson = False,
) -> None:
    """Choose records of the third split by their readings; write them beside the others.

    Example: scaleqa data release-third authored/ src/scaleqa/records/data
    """
    found = read_third(authored)
    released = release_third(found.records, found.receipts, found.readings)
    ledger = out / DRAWS
    known = read_ledger(ledger) if ledger.is_file() else []
    others = [receipt for receipt in known if not receipt.id.startswith(f"{THIRD}:")]
    place = out / THIRD
    place.mkdir(parents=True, exist_ok=True)
    for file in place.glob("*.jsonl"):
        file.unlink()
    for domain, records in groupby(released.items, key=lambda record: record.domain):
        write_lines(place / f"{domain}.jsonl", records)
    write_lines(out / THIRD_READINGS, found.readings)
    write_lines(ledger, [*others, *sorted(found.receipts, key=lambda receipt: receipt.id)])
    body = json.dumps(released.funnel, indent=1)
    (out / THIRD_FUNNEL).write_text(body + "\n", encoding="utf-8")
    if as_json:
        print_json(released.funnel)
        return
    rows = [{"stage": stage, "records": count} for stage, count in released.funnel.items()]
    print_tables(listing(rows))
    say(f"Wrote {len(released.items)} records to {place}; next: scaleqa data card --out docs")
