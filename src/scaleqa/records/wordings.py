"""Checks of second wordings against their records."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scaleqa.records.schema import Record, Wording
from scaleqa.records.stems import WORD, content, is_number, plain
from scaleqa.records.text import common_words, names, words

# A word is rare if at most this share of the dialogues has it.
RARE = 0.01
MOST_WORDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class _Vocabulary:
    """The words of a set of records.

    Attributes:
        records: Number of records.
        common: Words that are no names, although they may be capitalised.
        dialogues: Number of dialogues that contain each stem.
    """

    records: int
    common: frozenset[str]
    dialogues: Counter[str]


def problems(wordings: Sequence[Wording], records: Sequence[Record]) -> Iterator[tuple[str, str]]:
    """Checks second wordings.

    Yields:
        Pairs of a record id and a problem with its second wording.
    """
    if not wordings:
        return
    by_id = {record.id: record for record in records}
    known = _Vocabulary(
        records=len(records),
        common=common_words(text for record in records for text in (record.text, record.question)),
        dialogues=Counter(word for record in records for word in content(record.text)),
    )
    for wording in wordings:
        record = by_id.get(wording.id)
        found = _against(wording, record, known) if record else ["there is no such record"]
        yield from ((wording.id, problem) for problem in found)
    for record_id, count in Counter(wording.id for wording in wordings).items():
        if count > 1:
            yield record_id, f"has {count} second wordings"
    first: dict[str, str] = {}
    for wording in wordings:
        other = first.setdefault(wording.question.lower(), wording.id)
        if other != wording.id:
            yield wording.id, f"the same text as the second wording of {other}"


def _against(wording: Wording, record: Record, known: _Vocabulary) -> Iterator[str]:
    length = len(wording.question.split())
    if length > MOST_WORDS:
        yield f"has {length} words, expected at most {MOST_WORDS}"
    asked = content(wording.question)
    shared = sorted({*content(record.text)} & {*asked})
    said = {plain(word) for word in (*words(wording.question), *WORD.findall(wording.question))}
    named = names(record.text, known.common) | names(record.question, known.common)
    for name in sorted(said & named):
        yield f"has the name {name!r} of its record"
    for stem in shared:
        count = known.dialogues[stem]
        if is_number(asked[stem]):
            yield f"has the number {asked[stem]!r} of its dialogue"
        elif count <= RARE * known.records and asked[stem].lower() not in named:
            yield (
                f"has the rare word {asked[stem]!r} of its dialogue, which {count} of "
                f"{known.records} dialogues have"
            )
