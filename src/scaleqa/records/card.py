"""The dataset card and the validation report: written from the data, never by hand."""

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from hashlib import sha256
from typing import Any

from scaleqa.records.calibration import Calibration
from scaleqa.records.schema import DOMAINS, LETTERS, SPLITS, Record, Sequel
from scaleqa.records.sequels import Reading
from scaleqa.records.validate import Validation

# How the paper's own set looks, to stand beside ours.
PAPER = {"records": 3000, "tokens": 131, "turns": 7, "evidence": 1.45}


def stats(records: Sequence[Record]) -> dict[str, Any]:
    """Counts what the card tells."""
    if not records:
        return {"records": 0}
    lengths = [record.tokens for record in records]
    labels = Counter(label for record in records for label in record.stress.labels)
    return {
        "records": len(records),
        "cells": {
            f"{split}:{domain}": sum((r.split, r.domain) == (split, domain) for r in records)
            for split in SPLITS
            for domain in DOMAINS
        },
        "labels": {letter: sum(r.answer == letter for r in records) for letter in LETTERS},
        "evidence_turns": sum(len(r.evidence) for r in records),
        "evidence_turns_a_record": round(statistics.mean(len(r.evidence) for r in records), 3),
        "evidence_sizes": {
            str(size): count
            for size, count in sorted(Counter(len(r.evidence) for r in records).items())
        },
        "dialogue_tokens": sum(lengths),
        "dialogue_tokens_a_record": round(statistics.mean(lengths), 1),
        "turns_median": statistics.median(len(r.dialogue) for r in records),
        "stress_labels": dict(sorted(labels.items())),
        "stress_primary": dict(sorted(Counter(r.stress.primary for r in records).items())),
        "sha256": fingerprint(records),
    }


def fingerprint(records: Sequence[Record | Sequel]) -> str:
    """Hashes a set of records, or of records and sequels."""
    digest = sha256()
    for record in records:
        digest.update(record.model_dump_json().encode() + b"\n")
    return digest.hexdigest()


def report_json(records: Sequence[Record], report: Validation) -> dict[str, Any]:
    """The validation report as data, with the hash of what was validated."""
    return {"sha256": fingerprint(records), **asdict(report)}


def card(
    records: Sequence[Record],
    report: dict[str, Any],
    calibration: Sequence[Calibration],
    funnel: dict[str, int],
    sequels: Sequence[Sequel],
    readings: Sequence[Reading],
) -> str:
    """Writes the card."""
    facts = stats(records)
    parts = [
        _intro(facts),
        _table(facts),
        _making(funnel),
        _checks(report),
        _readers(calibration),
        _sequels(sequels, readings),
        LIMITS,
    ]
    return "\n\n".join(parts) + "\n"


def _intro(facts: dict[str, Any]) -> str:
    return f"""# SCALE-QA dataset card

{facts["records"]:,} four-way questions in {len(DOMAINS)} domains and {len(SPLITS)} splits. Each record is a short assistant dialogue in which a local rule becomes binding, and a later, ordinary request whose only right answer follows from it. The exact turns that decide are marked.

This page is generated: `scaleqa data card`. Licence: CC BY 4.0. **Authors and readers of the records are language models**; no human has audited them yet."""


def _table(facts: dict[str, Any]) -> str:
    rows = [
        ("records", f"{facts['records']:,}", f"{PAPER['records']:,}"),
        ("dialogue tokens a record", facts["dialogue_tokens_a_record"], PAPER["tokens"]),
        ("dialogue tokens in all", f"{facts['dialogue_tokens']:,}", "393,245"),
        ("median turns a dialogue", facts["turns_median"], PAPER["turns"]),
        ("evidence turns a record", facts["evidence_turns_a_record"], PAPER["evidence"]),
        ("evidence sizes 1 / 2 / 3", _slashes(facts["evidence_sizes"]), "not given"),
        ("right letters A / B / C / D", _slashes(facts["labels"]), "750 / 750 / 750 / 750"),
        ("primary stress", _named(facts["stress_primary"]), "not comparable"),
    ]
    lines = ["## Figures", "", "| | ours | paper |", "|---|---|---|"]
    lines += [f"| {name} | {ours} | {paper} |" for name, ours, paper in rows]
    lines += ["", f"sha256 of the records: `{facts['sha256']}`"]
    return "\n".join(lines)


def _making(funnel: dict[str, int]) -> str:
    lines = [
        "## How it was made",
        "",
        "Question and options first, the right letter by lot, the dialogue last: nothing in a "
        "question or its options can know the answer. The receipts of the draw ship with the "
        "records, and validation matches each record to its receipt.",
        "",
        "| stage | records |",
        "|---|---|",
    ]
    return "\n".join([*lines, *(f"| {stage} | {count:,} |" for stage, count in funnel.items())])


def _checks(report: dict[str, Any]) -> str:
    lines = [
        "## Checks",
        "",
        f"{len(report['critical'])} critical findings, {len(report['warnings'])} warnings "
        "(`scaleqa data validate`).",
        "",
        "| shortcut probe | accuracy | 95 % interval | may be |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {p['name']} | {p['accuracy']:.3f} | {p['interval'][0]:.3f}–{p['interval'][1]:.3f} | "
        f"≤ {p['limit']} |"
        for p in report["probes"]
    ]
    lines += ["", "The closest pairs:", "", "| measure | records | value |", "|---|---|---|"]
    lines += [
        f"| {p['measure']} | {p['one']}, {p['two']} | {p['value']:.3f} |" for p in report["closest"]
    ]
    return "\n".join(lines)


def _readers(calibration: Sequence[Calibration]) -> str:
    lines = [
        "## Readers",
        "",
        "Blind readers, language models that did not write the records they read and saw no key. "
        "Open book: dialogue, question and options. Closed book: no dialogue, and told that "
        "unconventional answers are common. The raw answers ship with the records.",
        "",
        "| mode | records | right | 95 % interval |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {c.mode} book | {c.records} | {c.right} ({c.accuracy:.1%}) | "
        f"{c.interval.low:.3f}–{c.interval.high:.3f} |"
        for c in calibration
    ]
    for one in calibration:
        for name, ids in (("answered otherwise", one.wrong), *one.flagged.items()):
            if ids and one.mode == "open":
                share = len(ids) / one.records
                lines += ["", f"Open book, {name} ({len(ids)}, {share:.1%}): {', '.join(ids)}."]
    return "\n".join(lines)


def _sequels(sequels: Sequence[Sequel], readings: Sequence[Reading]) -> str:
    counts = Counter((sequel.named, sequel.id.partition(":")[0]) for sequel in sequels)
    kinds = {True: "say the name that the question uses", False: "say no name of the question"}
    rows = []
    for named, kind in kinds.items():
        each = [counts[named, split] for split in SPLITS]
        rows.append(f"| {kind} | {' | '.join(str(count) for count in each)} | {sum(each)} |")
    letters = {sequel.id: sequel.answer for sequel in sequels}
    right = Counter[str](letters.values())
    kept = [reading for reading in readings if reading.id in letters]
    agreed = sum(reading.answer == letters[reading.id] for reading in kept)
    flags = Counter(flag for reading in readings for flag in reading.flags)
    needed = {sequel.id: (*sequel.keeps, None, *sequel.evidence) for sequel in sequels}
    same = sum((*one.needs_old, None, *one.needs_later) == needed[one.id] for one in kept)
    turns = statistics.mean(len(sequel.dialogue) for sequel in sequels)
    words = statistics.mean(len(sequel.text.split()) for sequel in sequels)
    still = sum(bool(sequel.keeps) for sequel in sequels)
    lines = [
        "## Sequels",
        "",
        f"{len(sequels)} records have a sequel: the same user comes back to the matter in a further dialogue, something has changed, and another of the four options is now the only right one. `scaleqa build --sequels` puts them into threads.",
        "",
        f"| | {' | '.join(SPLITS)} | all |",
        "|---|---|---|---|",
        *rows,
        "",
        f"A sequel has {turns:.1f} turns and {words:.0f} words on average; right letters A / B / C / D: {_slashes({letter: right[letter] for letter in LETTERS})}. With {still} of them a turn of the record is needed as well. The new letter was drawn by lot among the other three, then the sequel was written.",
        "",
        f"Each of {len(readings)} sequels was read, with its record, by one reader who did not write it and saw no key. {len(readings) - len(kept)} were flagged ({_named(dict(flags.most_common()))}) and left out. The readers chose the drawn letter with {agreed} of the {len(kept)} others, and with {same} named exactly the turns that are marked as evidence. The raw readings ship with the records.",
    ]
    return "\n".join(lines)


LIMITS = """## Limits

- The dialogues are authored, not logged: they are shorter and tidier than real ones.
- Authors and readers are language models of one family; what they find natural is not what everybody would.
- A sequel has had one reader, of the family of models that wrote it. Sequels are short and clean: people come back to a matter in more words, and less plainly.
- English only. Names are invented or drawn from public name lists; any likeness is chance. Nothing here is medical, legal or financial advice."""


def _slashes(counts: dict[str, int]) -> str:
    return " / ".join(f"{count:,}" for count in counts.values())


def _named(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())
