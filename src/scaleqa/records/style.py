"""Habits of dialogues that can be counted: how they open, who asks, and what words repeat.

Records that share habits are easier than conversations of people, and say less about a memory. The
same counts of real chats show what is usual. The more dialogues there are, the more often something
repeats, so whatever depends on that is counted in samples of the same size.
"""

import random
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from scaleqa.records.schema import Record
from scaleqa.records.text import common_words, names, words
from scaleqa.stats import Interval, wilson

# Words of an opening, of a run whose repetition counts, and of a quotation that is no single term.
OPENING, RUN, QUOTED = 3, 4, 5
# Words of a sample in which different words are counted, and how many samples are drawn.
SAMPLE, SAMPLES = 10_000, 20
# Dialogues of a sample that hold a word, up to which it counts as rare.
RARE = 2
SEED = 23

QUOTATION = re.compile(r"[\"“«]([^\"”»]+)[\"”»]")
# A line that is set apart as a rule is: with a label before it, in capitals or followed by a colon.
LABEL = re.compile(
    r"^\s*(?:[A-Z]{2,}[A-Z ]{2,}\b|(?i:(?:house )?rules?|note|notice|policy|clause)\b[^.\n]*:)",
    re.M,
)
TABLE = re.compile(r"^\s*\|.*\|\s*$|^\S+(?:(?:\t| {3,})\S+){2,}", re.M)
LIST = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+\S", re.M)


Item = TypeVar("Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """A dialogue as far as habits go.

    Attributes:
        user: What the user says.
        model: What the model says.
        turns: All turns, in order.
    """

    user: tuple[str, ...]
    model: tuple[str, ...]
    turns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A share with Wilson's 95 % interval."""

    value: float
    interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """Habits of a set of dialogues.

    Attributes:
        dialogues: Number of dialogues.
        opening_repeated: First turns whose first three words open another dialogue, too.
        reply_repeated: The model's turns whose first three words open one in another dialogue.
        model_asks: The model's turns with a question.
        model_words: Share of the words that are the model's.
        turn_words: Words of a turn at the 5th, 50th and 95th percentile.
        distinct_words: Share of different words in a sample.
        distinct_runs: Share of different runs of four words in a sample.
        set_apart: Dialogues with code, a table or a list.
    """

    dialogues: int
    opening_repeated: float
    reply_repeated: float
    model_asks: Share
    model_words: float
    turn_words: tuple[int, int, int]
    distinct_words: float
    distinct_runs: float
    set_apart: Share


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """Habits of records that dialogues alone do not have.

    Attributes:
        question_repeated: Questions whose first three words open another one of a sample, too.
        anchored: Questions that share a word with their dialogue which at most two dialogues of a
            sample have.
        named: Questions that mention a name or code.
        notice: Records whose evidence quotes or labels what decides.
        set_apart: Records with evidence in code, a table or a list.
        by_model: Records with evidence in a turn of the model.
    """

    question_repeated: float
    anchored: float
    named: Share
    notice: Share
    set_apart: Share
    by_model: Share


def talk_of(record: Record) -> Talk:
    """Returns the dialogue of a record."""
    return talk([turn.content for turn in record.dialogue])


def talk(turns: Sequence[str]) -> Talk:
    """Returns a dialogue of alternating turns, the user's first."""
    return Talk(user=tuple(turns[::2]), model=tuple(turns[1::2]), turns=tuple(turns))


def style(dialogues: Sequence[Talk], among: int) -> Style:
    """Counts habits of dialogues.

    Args:
        dialogues: The dialogues, in an order that is the same every time.
        among: How many of them are a sample; the same for all sets that are compared.
    """
    replies = [text for one in dialogues for text in one.model]
    lengths = sorted(len(text.split()) for one in dialogues for text in one.turns)
    said = sum(len(text.split()) for one in dialogues for text in one.model)
    single, runs = _distinct(dialogues)
    return Style(
        dialogues=len(dialogues),
        opening_repeated=_sampled(_repeated, [one.turns[:1] for one in dialogues], among),
        reply_repeated=_sampled(_repeated, [one.model for one in dialogues], among),
        model_asks=_share("?" in text for text in replies),
        model_words=said / max(1, sum(lengths)),
        turn_words=_percentiles(lengths),
        distinct_words=single,
        distinct_runs=runs,
        set_apart=_share(any(map(_is_set_apart, one.turns)) for one in dialogues),
    )


def asking(records: Sequence[Record], among: int) -> Asking:
    """Counts habits of questions and evidence.

    Args:
        records: The records, in an order that is the same every time.
        among: How many of them are a sample; the same for all sets that are compared.
    """
    common = common_words(f"{record.question}\n{record.text}" for record in records)
    return Asking(
        question_repeated=_sampled(_repeated, [(one.question,) for one in records], among),
        anchored=_sampled(_anchored, [*records], among),
        named=_share(bool(names(record.question, common)) for record in records),
        notice=_share(any(map(_is_notice, record.evidence_turns)) for record in records),
        set_apart=_share(any(map(_is_set_apart, record.evidence_turns)) for record in records),
        by_model=_share(
            any(record.dialogue[place].role == "model" for place in record.evidence)
            for record in records
        ),
    )


def _share(found: Iterable[bool]) -> Share:
    every = [*found]
    return Share(value=sum(every) / max(1, len(every)), interval=wilson(sum(every), len(every)))


def _sampled(
    measure: Callable[[Sequence[Item]], float], items: Sequence[Item], among: int
) -> float:
    """Returns the mean of a measure over samples of items; the same samples every time."""
    rng = random.Random(SEED)
    size = min(among, len(items))
    rounds = SAMPLES if size < len(items) else 1
    return statistics.mean(measure(rng.sample(items, size)) for _ in range(rounds))


def _repeated(texts: Sequence[Sequence[str]]) -> float:
    """Returns the share of texts that open as one of another dialogue does."""
    openings = [[" ".join(words(text)[:OPENING]) for text in some] for some in texts]
    holders = Counter(opening for some in openings for opening in {*some})
    again = [holders[opening] > 1 for some in openings for opening in some]
    return sum(again) / max(1, len(again))


def _anchored(records: Sequence[Record]) -> float:
    """Returns the share of questions with a rare word of their dialogue."""
    said = [{*words(record.text)} for record in records]
    holders = Counter(word for own in said for word in own)
    rare = [
        any(holders[word] <= RARE for word in {*words(record.question)} & own)
        for record, own in zip(records, said, strict=True)
    ]
    return sum(rare) / max(1, len(rare))


def _distinct(dialogues: Sequence[Talk]) -> tuple[float, float]:
    """Returns the shares of different words and runs in samples of so many words."""
    tokens = [words(" ".join(one.turns)) for one in dialogues]
    rng = random.Random(SEED)
    single, runs = [], []
    for _ in range(SAMPLES):
        drawn: list[str] = []
        for place in rng.sample(range(len(tokens)), len(tokens)):
            drawn += tokens[place]
        drawn = drawn[:SAMPLE]
        found = [tuple(drawn[at : at + RUN]) for at in range(len(drawn) - RUN + 1)]
        single.append(len({*drawn}) / max(1, len(drawn)))
        runs.append(len({*found}) / max(1, len(found)))
    return statistics.mean(single), statistics.mean(runs)


def _percentiles(lengths: Sequence[int]) -> tuple[int, int, int]:
    if not lengths:
        return 0, 0, 0
    low, middle, high = (lengths[int(share * (len(lengths) - 1))] for share in (0.05, 0.5, 0.95))
    return low, middle, high


def _is_set_apart(text: str) -> bool:
    return bool("```" in text or TABLE.search(text) or len(LIST.findall(text)) > 1)


def _is_notice(text: str) -> bool:
    quoted = any(len(found.split()) >= QUOTED for found in QUOTATION.findall(text))
    return quoted or bool(LABEL.search(text))
