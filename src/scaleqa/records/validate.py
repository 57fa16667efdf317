"""Validation of records.

Critical findings break the benchmark; warnings should be reviewed. Validation never changes a
record.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from scaleqa.records import asides, sequels, talk, wordings
from scaleqa.records.draw import DrawReceipt, declaring, is_own, mismatches
from scaleqa.records.duplicates import Pair, embedding_pairs, lexical_pairs
from scaleqa.records.load import BadLine, Supplements
from scaleqa.records.probes import Probe, embedding_probes, lexical_probes
from scaleqa.records.schema import CELL, CELLS, DOMAINS, LETTERS, SPLITS, THIRD, Case, Record
from scaleqa.records.text import common_words, names
from tsim.embed import Embedder

MEMORY_PROBE = re.compile(
    r"\b(earlier|previously|last time|remember|recall|as (we )?(discussed|agreed|mentioned)|"
    r"(i|we|you) (said|told|mentioned|discussed)|did (i|we|you) (say|tell|mention|agree)|"
    r"our policy says)\b",
    re.IGNORECASE,
)
CATCH_ALL = re.compile(
    r"\b(all|none|both|neither) of (the (above|others|options|rest)|these)\b", re.IGNORECASE
)
# Fewest and most turns and words of a dialogue.
TURNS = {THIRD: (4, 14)}
WORDS = {THIRD: (45, 650)}
USUAL_TURNS, USUAL_WORDS = (5, 10), (70, 165)
OPTION_WORDS = 26
REUSED_NAME = 3
CLOSEST = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A problem with a record, or with the set of records."""

    code: str
    where: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """The result of a validation.

    Attributes:
        records: Number of records read.
        sequels: Number of sequels read.
        wordings: Number of second wordings read.
        asides: Number of asides read.
        talk: Number of lives read.
        critical: Findings that break the benchmark.
        warnings: Findings that should be reviewed.
        labels: How often each letter is correct.
        evidence_sizes: Number of records by number of evidence turns.
        probes: Shortcut probes.
        closest: The closest pairs by each measure.
    """

    records: int
    sequels: int = 0
    wordings: int = 0
    asides: int = 0
    talk: int = 0
    critical: list[Finding] = field(default_factory=list)
    warnings: list[Finding] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    evidence_sizes: dict[str, int] = field(default_factory=dict)
    probes: list[Probe] = field(default_factory=list)
    closest: list[Pair] = field(default_factory=list)


def validate(
    records: Sequence[Record],
    *,
    bad: Iterable[BadLine] = (),
    receipts: Sequence[DrawReceipt] | None = None,
    embedder: Embedder | None = None,
    release: bool = False,
    supplements: Supplements | None = None,
    declared: Collection[str] = (),
) -> Validation:
    """Checks records individually and as a set, and what belongs to them.

    Args:
        records: The records that could be read.
        bad: Lines that could not be read.
        receipts: Receipts of the draw, if there are any.
        embedder: Used for semantic similarity; None skips these checks.
        release: Whether this is the complete dataset; if so, its balance is checked too.
        supplements: Sequels and second wordings of some of the records, asides, and lives.
        declared: Cells of one's own, as `split:domain`, that are no mistake.
    """
    beside = supplements or Supplements()
    critical = [
        Finding(code="schema", where=f"{line.source}:{line.line}", message=line.problem)
        for line in bad
    ]
    warnings: list[Finding] = []
    for record in records:
        critical += phrasing(record)
        warnings += lengths(record)
    critical += _ids(records, declared)
    if receipts is not None:
        critical += [
            Finding(code="receipt", where=where, message=problem)
            for where, problem in mismatches([*records, *beside.asides], receipts, declared).items()
        ]
    critical += supplement_findings(beside, records, declared)
    if release:
        critical += _balance(records)
    probes = lexical_probes(records)
    closest = lexical_pairs(records, CLOSEST)
    if embedder:
        probes += embedding_probes(records, embedder)
        closest += embedding_pairs(records, embedder, CLOSEST)
    critical += [
        Finding(code="near-duplicate", where=f"{p.one} {p.two}", message=f"{p.measure} {p.value}")
        for p in closest
        if p.value >= p.limit
    ]
    warnings += [
        Finding(code="shortcut", where="set", message=f"{p.name}: {p.accuracy:.3f} > {p.limit}")
        for p in probes
        if len(records) >= 100 and p.accuracy > p.limit
    ]
    warnings += _reused_names(records)
    return Validation(
        records=len(records),
        sequels=len(beside.sequels),
        wordings=len(beside.wordings),
        asides=len(beside.asides),
        talk=len(beside.talk),
        critical=critical,
        warnings=warnings,
        labels={letter: sum(r.answer == letter for r in records) for letter in LETTERS},
        evidence_sizes={
            str(size): count
            for size, count in sorted(Counter(len(r.evidence) for r in records).items())
        },
        probes=probes,
        closest=closest,
    )


def supplement_findings(
    beside: Supplements, records: Sequence[Record], declared: Collection[str] = ()
) -> list[Finding]:
    """Checks what belongs to records, apart from receipts; all findings are critical."""
    found = {
        "sequel": sequels.problems(beside.sequels, records),
        "wording": wordings.problems(beside.wordings, records),
        "aside": asides.problems(beside.asides, declared),
        "talk": talk.problems(beside.talk),
    }
    critical = [
        Finding(code=code, where=where, message=problem)
        for code, problems in found.items()
        for where, problem in problems
    ]
    for wording in beside.wordings:
        critical += memory_probe(wording.id, wording.question)
    for aside in beside.asides:
        critical += phrasing(aside)
    return critical


def memory_probe(where: str, question: str) -> list[Finding]:
    """Finds words of a question that refer to the conversation."""
    probe = MEMORY_PROBE.search(question)
    if not probe:
        return []
    message = f"the question says {probe.group(0)!r}: it refers to the conversation"
    return [Finding(code="memory-probe", where=where, message=message)]


def asking(where: str, question: str, options: Iterable[str]) -> list[Finding]:
    """Checks a question and its options, which may not have a dialogue yet."""
    found = memory_probe(where, question)
    found += [
        Finding(code="catch-all", where=where, message=f"option {option!r}")
        for option in options
        if CATCH_ALL.search(option)
    ]
    return found


def phrasing(case: Case) -> list[Finding]:
    """Checks the words of a question, and whether its evidence can be told from other turns."""
    found = asking(case.id, case.question, case.options.as_list())
    repeated = [t for t, n in Counter(turn.content for turn in case.dialogue).items() if n > 1]
    if set(repeated) & set(case.evidence_turns):
        found.append(
            Finding(
                code="evidence",
                where=case.id,
                message="an evidence turn occurs twice in the dialogue; its position is ambiguous",
            )
        )
    return found


def lengths(record: Record) -> list[Finding]:
    """Checks the lengths of a record's parts."""
    turns, words = len(record.dialogue), len(record.text.split())
    longest = max(len(option.split()) for option in record.options.as_list())
    few, many = TURNS.get(record.split, USUAL_TURNS)
    short, long = WORDS.get(record.split, USUAL_WORDS)
    checks = (
        (few <= turns <= many, f"{turns} turns, expected {few} to {many}"),
        (short <= words <= long, f"{words} words, expected {short} to {long}"),
        (longest <= OPTION_WORDS, f"an option of {longest} words"),
        (len(record.evidence) <= len(LETTERS) - 1, f"{len(record.evidence)} evidence turns"),
    )
    return [
        Finding(code="length", where=record.id, message=message) for ok, message in checks if not ok
    ]


def _ids(records: Sequence[Record], declared: Collection[str]) -> list[Finding]:
    found = []
    for record_id, count in Counter(record.id for record in records).items():
        if count > 1:
            found.append(Finding(code="id", where=record_id, message=f"occurs {count} times"))
    for record in records:
        known = record.split in CELLS and record.domain in DOMAINS
        if not known and not is_own(record.cell, declared):
            message = f"unknown split or domain; {declaring(record.cell)}"
            found.append(Finding(code="id", where=record.id, message=message))
    return found


def _balance(records: Sequence[Record]) -> list[Finding]:
    found = []
    by_cell: dict[str, Counter[str]] = defaultdict(Counter)
    for record in records:
        by_cell[record.cell][record.answer] += 1
    if {record.split for record in records} == {THIRD}:
        return _third_balance(by_cell)
    for cell in (f"{split}:{domain}" for split in SPLITS for domain in DOMAINS):
        counts = [by_cell[cell][letter] for letter in LETTERS]
        if sum(counts) != CELL or not set(counts) <= {CELL // 4, CELL // 4 + 1}:
            found.append(
                Finding(
                    code="balance",
                    where=cell,
                    message=f"{sum(counts)} records with letters {counts}, expected {CELL} with "
                    f"{CELL // 4} or {CELL // 4 + 1} of each",
                )
            )
    return found


def _third_balance(by_cell: Mapping[str, Counter[str]]) -> list[Finding]:
    """Checks the third split, which keeps all that is sound instead of the same number of each."""
    found = []
    least = CELLS[THIRD] // 5
    for cell in (f"{THIRD}:{domain}" for domain in DOMAINS):
        counts = [by_cell[cell][letter] for letter in LETTERS]
        if sum(counts) < CELLS[THIRD] or min(counts) < least:
            message = (
                f"{sum(counts)} records with letters {counts}, expected at least {CELLS[THIRD]} "
                f"with {least} of each"
            )
            found.append(Finding(code="balance", where=cell, message=message))
    return found


def _reused_names(records: Sequence[Record]) -> list[Finding]:
    """Finds names used in several records; the names that questions refer to must be unique."""
    common = common_words(f"{r.question}\n{r.text}" for r in records)
    holders: dict[str, list[str]] = defaultdict(list)
    for record in records:
        for name in names(f"{record.question}\n{record.text}", common):
            holders[name].append(record.id)
    return [
        Finding(
            code="name-reused", where=" ".join(ids[:4]), message=f"{name} in {len(ids)} records"
        )
        for name, ids in sorted(holders.items(), key=lambda item: (-len(item[1]), item[0]))
        if len(ids) >= REUSED_NAME
    ]
