"""The sentences of a report: what was run, what it shows, what replaces what the paper used."""

from collections.abc import Sequence
from dataclasses import dataclass

from scaleqa import paper
from scaleqa.figures.comparison import Main, Paired
from scaleqa.figures.groups import Group, Setting
from scaleqa.pages.forms import percent
from scaleqa.systems import memories, rivals


@dataclass(frozen=True, slots=True, kw_only=True)
class StandIn:
    """Something that replaces what the paper used.

    Attributes:
        part: `reader` or `embedder`.
        sign: The letter that marks its figures.
        short: For beside a table.
        long: For the head of the page.
    """

    part: str
    sign: str
    short: str
    long: str


def stand_ins(setting: Setting) -> list[StandIn]:
    """Lists where something else replaces what the paper used; nothing where it is the same."""
    return [*_reader(setting), *_embedder(setting)]


def _reader(setting: Setting) -> list[StandIn]:
    if setting.backend is None:
        return []
    model = setting.backend.partition("@")[0]
    if setting.stand_in:
        short = f"extractive reader, no model, instead of {paper.DEFAULT}"
        long = (
            f"No language model answered: a reader that matches words replaces the paper's "
            f"{paper.DEFAULT}, so there are no figures about answers. Its replies are written back."
        )
    elif paper.is_block(model):
        return []
    else:
        short = f"{model} instead of {paper.DEFAULT}"
        long = f"Answers come from {model}, in place of the paper's {paper.DEFAULT}."
    return [StandIn(part="reader", sign="a", short=short, long=long)]


def _embedder(setting: Setting) -> list[StandIn]:
    name = (setting.embedder or "an embedder the rows do not name").partition("@")[0]
    if paper.LARGE in name:
        return []
    short = f"{name} instead of BGE-large"
    long = f"Embeddings come from {name}, in place of the paper's BGE-large."
    return [StandIn(part="embedder", sign="b", short=short, long=long)]


def label(setting: Setting, questions: int) -> str:
    """Names a setting."""
    parts = (setting.length, setting.track, reader_of(setting), f"{questions:,} questions")
    return ", ".join(part for part in parts if part)


def reader_of(setting: Setting) -> str:
    """Names who answered, and whether that was written back."""
    if setting.backend is None:
        return "retrieval alone"
    loop = "closed loop" if setting.writeback else "no write-back"
    return f"{setting.backend.partition('@')[0]}, {loop}"


def hit_of(setting: Setting) -> str:
    """Names the share of questions with all evidence in the context."""
    return "In context" if setting.backend is None else "CL hit"


def described(group: Group) -> list[tuple[str, str]]:
    """Lists what was run."""
    one = group.setting
    return [
        ("Setting", label(one, group.questions)),
        *([("Track", one.track)] if one.track else []),
        ("Systems", ", ".join(group.systems)),
        *_answering(one),
        ("Embedder", one.embedder or "the rows do not say"),
    ]


def _answering(setting: Setting) -> list[tuple[str, str]]:
    if setting.backend is None or setting.prompt is None:
        return [("Reader", "none: retrieval alone")]
    return [
        ("Reader", setting.backend),
        ("Prompt", setting.prompt),
        ("Write-back", "on: exchanges become part of the thread" if setting.writeback else "off"),
    ]


def uneven(group: Group) -> str:
    """Warns where systems were not asked the same questions; empty where they were."""
    fewer = [
        f"{name} {len(rows):,}" for name, rows in group.rows.items() if len(rows) < group.questions
    ]
    if not fewer:
        return ""
    return (
        f"Not every system was asked all {group.questions:,} questions, so their figures are about "
        f"different ones: {', '.join(fewer)}. Paired differences are about common questions only."
    )


def rewritten(group: Group) -> str:
    """Names the systems whose contexts have texts of their own; empty where there are none."""
    names = [name for name, rows in group.rows.items() if any(row.rewritten for row in rows)]
    if not names:
        return ""
    return (
        f"{', '.join(names)}: contexts have texts that the system wrote in place of turns. Whether "
        "evidence is in them cannot be said, so only answers compare; where evidence is counted "
        "below, these texts count as none."
    )


def finding(group: Group, table: Sequence[Main], pairs: Sequence[Paired]) -> str:
    """Says in one sentence what a setting shows.

    The measure is CL hit where no model answers, and strict accuracy where one does.
    """
    answered = group.setting.answers
    measure = "correct" if answered else "hit"
    does = "answers" if answered else "retrieves all evidence for"
    well = " correctly" if answered else ""
    first, *_ = table
    if not answered and not first.scores.judged:
        return f"{first.system} shows texts of its own; without answers nothing can be said of it."
    start = (
        f"{first.system} {does} {percent(_value(first, measure))} of {first.scores.questions:,} "
        f"questions{well} with {first.context.mean:,.0f} context tokens on average"
    )
    others = [
        line
        for line in table[1:]
        if line.system in rivals(group.systems) and (answered or line.scores.judged)
    ]
    usable = memories(group.systems)
    against = {pair.second: pair for pair in pairs}
    candidates = [line for line in others if line.system in usable]
    ranked = sorted(candidates or others, key=lambda line: (-_value(line, measure), line.system))
    best = next((line for line in ranked if line.system in against), None)
    if best is None:
        return f"{start}."
    pair = next(m for m in against[best.system].measures if m.measure == measure)
    low, high = pair.difference.interval
    gap = 100 * pair.difference.difference
    clear = "" if low > 0 or high < 0 else ", so no clear difference"
    return (
        f"{start}; the best of the other memories, {best.system}, does so for "
        f"{percent(_value(best, measure))} with {best.context.mean:,.0f}: {gap:+.1f} points "
        f"(95 % interval {100 * low:+.1f} to {100 * high:+.1f}{clear})."
    )


def _value(line: Main, measure: str) -> float:
    answers = line.scores.answers
    return answers.strict_accuracy if answers and measure == "correct" else line.scores.hit
