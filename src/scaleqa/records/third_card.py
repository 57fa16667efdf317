"""The part of the dataset card about the third split, generated from the data."""

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from scaleqa.records.habits import HABIT, Set, compare, table
from scaleqa.records.probes import probe_lines
from scaleqa.records.readings import FATAL, Judged
from scaleqa.records.schema import DOMAINS, LETTERS, SPLITS, THIRD, Record

MODES = {
    "shelf": "picked the dialogue among 18, then answered",
    "closed": "saw question and options only",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ThirdFacts:
    """What the card says about the third split.

    Attributes:
        records: The released records.
        report: Their validation report.
        funnel: How many each stage kept.
        judged: The results of readings.
    """

    records: Sequence[Record] = ()
    report: Mapping[str, Any] = field(default_factory=dict)
    funnel: Mapping[str, int] = field(default_factory=dict)
    judged: Sequence[Judged] = ()


def third_section(facts: ThirdFacts, first: Sequence[Record]) -> str:
    """Writes the section; nothing if there are no records.

    Args:
        facts: What there is.
        first: The records of the first two splits.
    """
    if not facts.records:
        return ""
    parts = [_intro(facts.records), _habits(facts.records, first), _funnel(facts)]
    return "\n\n".join([*parts, _checks(facts.report)])


def _intro(records: Sequence[Record]) -> str:
    letters = Counter[str](record.answer for record in records)
    sizes = Counter(len(record.evidence) for record in records)
    primary = Counter(record.stress.primary for record in records)
    words = statistics.mean(len(record.text.split()) for record in records)
    tokens = statistics.mean(record.tokens for record in records)
    turns = statistics.median(len(record.dialogue) for record in records)
    evidence = statistics.mean(len(record.evidence) for record in records)
    least = min(Counter(record.domain for record in records).values())
    return f"""## Third split

{len(records)} further records in the same {len(DOMAINS)} domains (at least {least} in each) are split `{THIRD}`. They are in no default: `scaleqa build --split {THIRD}` and `scaleqa:split={THIRD}` use them, everything else is about the first two. They were written to break habits of those: users of ten registers (terse, rambling, formal, second language, dictated, …), turns of three to three hundred words, a model that does the work it is asked for, rules that emerge from decisions, corrections and findings instead of notices, evidence in the model's turns, in code, tables and lists, and questions without a name. No constant of ours was chosen on them.

A dialogue has {words:.0f} words ({tokens:.0f} tokens) on average and {turns:.0f} turns at the median; {evidence:.2f} turns of it are evidence (one / two / three: {sizes[1]} / {sizes[2]} / {sizes[3]}). Correct letters A / B / C / D: {" / ".join(str(letters[letter]) for letter in LETTERS)}. Primary stress: {", ".join(f"{name} {count}" for name, count in primary.most_common())}."""


def _habits(records: Sequence[Record], first: Sequence[Record]) -> str:
    sets = [Set.of(split, [r for r in first if r.split == split]) for split in SPLITS]
    rows = table(compare([*sets, Set.of(THIRD, records)]))
    heads = [HABIT, *SPLITS, THIRD]
    lines = [f"| {' | '.join(heads)} |", "|---|---|---|---|"]
    lines += [f"| {' | '.join(row[head] for head in heads)} |" for row in rows]
    return "\n".join(
        [
            "Habits that can be counted (shares, with 95 % intervals where dialogues are "
            f"independent; rows marked as sampled are counted in samples of {len(records)} dialogues). "
            "`scaleqa data style` counts them for other records and beside real chats "
            "(docs/style.md).",
            "",
            *lines,
        ]
    )


def _funnel(facts: ThirdFacts) -> str:
    lines = ["| stage | records |", "|---|---|"]
    lines += [f"| {stage} | {count:,} |" for stage, count in facts.funnel.items()]
    lines += [
        "",
        "| reader | readings | dialogue picked | correct | flags |",
        "|---|---|---|---|---|",
    ]
    for one in facts.judged:
        picked = "–" if one.picked is None else str(one.picked)
        flags = ", ".join(f"{flag} {count}" for flag, count in one.flags.items()) or "none"
        lines.append(f"| {MODES[one.mode]} | {one.readings} | {picked} | {one.right} | {flags} |")
    return "\n".join(
        [
            "Question and options were written first, the letter was drawn, and the dialogue was "
            "written last. Readers were language models that had not written the records. One saw "
            "18 dialogues of a domain and then the questions without theirs, picked the dialogue "
            "and answered; another saw question and options only. A record was left out if the "
            f"first picked or answered otherwise, or flagged it as {', '.join(sorted(FATAL))}.",
            "",
            *lines,
        ]
    )


def _checks(report: Mapping[str, Any]) -> str:
    return "\n".join(
        [
            f"{len(report['critical'])} critical findings, {len(report['warnings'])} warnings "
            f"(`scaleqa data validate --split {THIRD}`).",
            "",
            *probe_lines(report["probes"]),
        ]
    )
