"""What the drill-down shows: every question in brief, some with all that was retrieved.

Each text is stored once and everything else points to it: contexts share most of their lines.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from scaleqa.evaluate.rows import Answered, Row, UnitRow
from scaleqa.figures.groups import Group, Key, Setting, key_of, setting_of
from scaleqa.figures.scores import counts
from scaleqa.pages.drawings import Track, ink, strip
from scaleqa.prompts import ABSTAIN
from scaleqa.report.palette import system_colours
from scaleqa.systems import rivals

EVIDENCE = "evidence"
EVIDENCE_COLOUR = "#d1495b"
Question = tuple[Setting, str]


@dataclass(slots=True)
class Texts:
    """A table of texts, each there once, in order of first use."""

    items: list[str] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)

    def add(self, text: str) -> int:
        """Returns the text's place."""
        if text not in self.places:
            self.places[text] = len(self.items)
            self.items.append(text)
        return self.places[text]

    def runs(self, text: str) -> list[int]:
        """Returns a text's lines as runs: first place, number of places, and so on."""
        out: list[int] = []
        for line in text.split("\n"):
            place = self.add(line)
            if out and place == out[-2] + out[-1]:
                out[-1] += 1
            else:
                out += [place, 1]
        return out


def choose(groups: Sequence[Group], most: int) -> list[Question]:
    """Chooses questions to show in full: those on which systems disagree, then the rest, evenly.

    Bounds, which are given the evidence or nothing, do not count.
    """
    split: list[Question] = []
    agreed: list[Question] = []
    for group in groups:
        names = rivals(group.systems) or group.systems
        outcomes: dict[str, set[tuple[bool, bool | None]]] = {}
        for name in names:
            for row in group.rows[name]:
                right = row.answered.correct if row.answered and group.setting.answers else None
                outcomes.setdefault(row.id, set()).add((row.hit, right))
        for identity, seen in outcomes.items():
            (split if len(seen) > 1 else agreed).append((group.setting, identity))
    first = _evenly(split, most)
    return first + _evenly(agreed, most - len(first))


def verdict(row: Row) -> str:
    """Says in words what came of a question: the evidence, and the answer where one counts."""
    if not row.present:
        shown = "nothing was returned" if row.silent else f"{row.turns_shown} turns were returned"
        said = f"; {_absent_words(row.answered)}" if row.answered and counts(row) else ""
        return f"the matter never came up in the thread; {shown}{said}"
    parts = [_evidence_words(row.evidence_shown, len(row.evidence))]
    if row.answered and counts(row):
        parts.append(_answer_words(row.answered, hit=row.hit))
    some = row.exchanges_shown
    if some:
        verb = "was an earlier exchange" if some == 1 else "were earlier exchanges"
        parts.append(f"{some} of {row.turns_shown} turns shown {verb}")
    return "; ".join(parts)


def data(
    groups: Sequence[Group], whole: Iterable[Row], chosen: Sequence[Question]
) -> dict[str, Any]:
    """Builds what the page's script reads.

    Args:
        groups: All rows without what is long.
        whole: Rows of the chosen questions, with everything.
        chosen: Questions to show in full.
    """
    texts = Texts()
    systems = list(dict.fromkeys(name for group in groups for name in group.systems))
    palette = system_colours(systems)
    full: dict[Question, dict[Key, Row]] = {}
    for row in whole:
        full.setdefault((setting_of(row), row.id), {})[key_of(row)] = row
    wanted = set(chosen)
    questions = []
    for number, group in enumerate(groups):
        for identity, rows in _by_question(group).items():
            entry = _brief(number, rows, systems, texts)
            if (group.setting, identity) in wanted:
                own = full[group.setting, identity]
                entry["full"] = _full([own[key_of(row)] for row in rows], palette, texts)
            questions.append(entry)
    return {
        "systems": [
            {"name": name, "colour": palette[name], "ink": ink(palette[name])} for name in systems
        ],
        "questions": questions,
        "texts": texts.items,
    }


def _evenly(items: Sequence[Question], most: int) -> list[Question]:
    if len(items) <= most:
        return list(items)
    return [items[number * len(items) // most] for number in range(most)]


def _evidence_words(found: int, count: int) -> str:
    if found == count:
        return "all evidence in context" if count > 1 else "the evidence turn is in context"
    if count == 1:
        return "the evidence turn is not in context"
    return f"{found or 'none'} of {count} evidence turns in context"


def _absent_words(answered: Answered) -> str:
    if answered.abstained:
        return "it said so"
    return f"answered {answered.answer} all the same" if answered.answer else "gave no answer"


def _answer_words(answered: Answered, *, hit: bool) -> str:
    if answered.abstained:
        return "said that it is not in the conversation"
    if answered.answer is None:
        return "gave no answer"
    if answered.correct:
        return "answered correctly" if hit else "answered correctly all the same"
    return f"answered {answered.answer}, which is wrong"


def _by_question(group: Group) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for rows in group.rows.values():
        for row in rows:
            found.setdefault(row.id, []).append(row)
    order = sorted(found, key=lambda one: (found[one][0].run.package, found[one][0].place))
    return {identity: found[identity] for identity in order}


def _brief(
    number: int, rows: Sequence[Row], systems: Sequence[str], texts: Texts
) -> dict[str, Any]:
    row = rows[0]
    return {
        "setting": number,
        "id": row.id,
        "package": texts.add(row.run.package),
        "place": row.place,
        "domain": texts.add(row.domain or ""),
        "stress": [texts.add(label) for label in row.stress],
        "question": texts.add(row.question),
        "options": {k: texts.add(v) for k, v in sorted((row.options or {}).items())},
        "gold": row.gold or "",
        "reasoning": texts.add(row.reasoning or ""),
        "evidence": row.evidence,
        "said": [texts.add(text) for text in row.evidence_texts],
        "rows": [
            [
                systems.index(one.run.system),
                _said(one.answered) if one.answered and counts(one) else None,
                int(one.hit) if one.present else None,
                one.context_tokens,
                texts.add(verdict(one)),
                int(one.answered.correct) if one.answered and counts(one) else None,
            ]
            for one in rows
        ],
    }


def _said(answered: Answered) -> str:
    """What the page shows as an answer; empty if there is none."""
    return ABSTAIN if answered.abstained else answered.answer or ""


def _full(rows: Sequence[Row], palette: dict[str, str], texts: Texts) -> dict[str, Any]:
    return {
        "strip": _strip(rows, palette),
        "rows": [
            {
                "context": texts.runs(row.detail.context),
                "rationale": texts.runs(row.detail.rationale or "" if counts(row) else ""),
                "thread": row.run.stream_turns,
                "units": [_unit(unit, texts) for unit in row.detail.units],
            }
            for row in rows
            if row.detail
        ],
    }


def _unit(unit: UnitRow, texts: Texts) -> list[Any]:
    turns: list[int] = []
    for turn in sorted(unit.turns):
        if turns and turn == turns[-2] + turns[-1]:
            turns[-1] += 1
        else:
            turns += [turn, 1]
    return [texts.add(unit.label), texts.add(unit.why), unit.score, turns]


def _strip(rows: Sequence[Row], palette: dict[str, str]) -> str:
    """Places in the thread; where rows do not give its length, up to the last known turn."""
    evidence = rows[0].evidence
    shown = {row.run.system: row.detail.shown for row in rows if row.detail}
    seen = max([0, *evidence, *(turn for turns in shown.values() for turn in turns)]) + 1
    thread = rows[0].run.stream_turns or seen
    length = max(thread, seen)
    tracks = [Track(label=EVIDENCE, places=tuple(evidence), colour=EVIDENCE_COLOUR)]
    tracks += [
        Track(label=name, places=turns, colour=palette[name]) for name, turns in shown.items()
    ]
    return strip(
        tracks,
        length=length,
        divider=thread if thread < length else None,
        title="Where the evidence is in the thread and what each system showed",
        description=(
            f"Evidence at turns {', '.join(map(str, evidence))} of {thread}."
            if evidence
            else f"There is no evidence in the thread of {thread} turns."
        ),
    )
