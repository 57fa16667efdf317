"""Checks of sequels against their records, and the blind readings of sequels."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from scaleqa.records.load import SEQUEL_READINGS, data_dir, load_lines
from scaleqa.records.schema import Letter, Record, Sequel
from tsim.toolkit import distinct, names


class Reading(BaseModel):
    """One reader's answer to one question after its sequel. No reader saw the answer key.

    Attributes:
        id: The id of the record.
        reader: Who read it.
        answer: The chosen letter.
        needs_old: The turns of the record that the reader needed.
        needs_later: The turns of the sequel that the reader needed.
        flags: Problems that the reader found.
        note: The reader's comment.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    reader: str
    answer: Letter
    needs_old: tuple[int, ...] = ()
    needs_later: tuple[int, ...] = ()
    flags: tuple[Literal["ambiguous", "unsupported", "contrived", "unlinked"], ...] = ()
    note: str = ""


def shipped_readings() -> list[Reading]:
    """Returns all readings of sequels, including those of sequels that were left out."""
    return load_lines([data_dir() / SEQUEL_READINGS], Reading)


def problems(sequels: Sequence[Sequel], records: Sequence[Record]) -> Iterator[tuple[str, str]]:
    """Checks sequels.

    Yields:
        Pairs of a record id and a problem with its sequel.
    """
    by_id = {record.id: record for record in records}
    for sequel in sequels:
        record = by_id.get(sequel.id)
        found = _against(sequel, record) if record else ["there is no such record"]
        yield from ((sequel.id, problem) for problem in found)
    for record_id, count in Counter(sequel.id for sequel in sequels).items():
        if count > 1:
            yield record_id, f"has {count} sequels"
    first: dict[str, str] = {}
    for sequel in sequels:
        other = first.setdefault(sequel.text, sequel.id)
        if other != sequel.id:
            yield sequel.id, f"the same text as the sequel of {other}"


def _against(sequel: Sequel, record: Record) -> Iterator[str]:
    if sequel.answer == record.answer:
        yield f"answer {sequel.answer} is also the record's answer: nothing changed"
    turns = len(record.dialogue)
    if sequel.keeps != sorted({*sequel.keeps} & {*range(turns)}):
        yield f"keeps {sequel.keeps} is not ascending within the record's {turns} turns"
    said = [] if sequel.named else sorted(names(record.question) & distinct(sequel.text))
    if said:
        yield f"says {', '.join(said)} as the question does, but is marked as unnamed"
    counts = Counter(turn.content for turn in (*record.dialogue, *sequel.dialogue))
    if any(counts[text] > 1 for text in sequel.evidence_turns):
        yield "an evidence turn stands twice and cannot be told apart"
