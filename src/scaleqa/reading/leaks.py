"""Leaks: what a reader learns from one item about another one of the same shard.

Two items may not ask the same: the same question, even in other words, or about the same evidence.
And no item may show what was said in the dialogues that hold the evidence of another, unless that
other one shows it as well. A question may have other dialogues in another thread, such as a sequel:
all of them count in every thread. Texts are compared by passages of eight words, because systems
cut and join what was said; a shorter evidence turn is a passage of its own.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

WORDS = 8
# Shorter texts say nothing by themselves.
FEWEST = 3
# A passage of more dialogues than this is a phrase, and tells none of them.
PHRASE = 3
# Scripts without spaces are compared by character.
WORD = re.compile(r"[^\W\u3040-\u30ff\u3400-\u9fff]+|[\u3040-\u30ff\u3400-\u9fff]")
Passage: TypeAlias = tuple[str, ...]
# Places of a dialogue's passages, as bits.
Bits: TypeAlias = int


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """What an item asks, what it is about and what it shows.

    Attributes:
        key: What its answer is called.
        asks: What no other item of the shard may ask: id, question, evidence.
        about: The dialogues it is about, in its own thread or in another.
        shows: For each dialogue, which of its passages the item shows.
    """

    key: str
    asks: frozenset[str]
    about: frozenset[int]
    shows: Mapping[int, Bits]


@dataclass(frozen=True, slots=True, kw_only=True)
class Leak:
    """Two items that must not be read by the same reader, and why."""

    first: str
    second: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """An item before it is compared with others.

    Attributes:
        key: What its answer is called.
        id: Id of the question.
        question: The question.
        evidence: What the evidence turns say.
        matter: What was said in the dialogues that hold them.
        prompt: All that a reader sees.
    """

    key: str
    id: str
    question: str
    evidence: tuple[str, ...]
    matter: tuple[str, ...]
    prompt: str


def conflict(one: Piece, other: Piece) -> str | None:
    """Says why two items must not be read by the same reader; None if they may."""
    if one.asks & other.asks:
        return "they ask the same"
    for shower, asker in ((one, other), (other, one)):
        if any(shower.shows.get(own, 0) & ~asker.shows.get(own, 0) for own in asker.about):
            return f"{shower.key} shows what {asker.key} is about, and {asker.key} does not"
    return None


def leaks(pieces: Iterable[Piece]) -> Iterator[Leak]:
    """Finds all pairs that must not be together."""
    for one, other in combinations(pieces, 2):
        if why := conflict(one, other):
            yield Leak(first=one.key, second=other.key, why=why)


def compared(texts: Sequence[Text]) -> list[Piece]:
    """Finds out what items ask and what they show of each other's matter."""
    dialogues: dict[tuple[str, ...], int] = {}
    about: dict[str, set[int]] = defaultdict(set)
    passages: list[set[Passage]] = []
    for text in texts:
        number = dialogues.setdefault(text.matter, len(dialogues))
        if number == len(passages):
            passages.append(set())
        about[text.id].add(number)
        passages[number].update(_passages(text))
    spread = Counter(passage for own in passages for passage in own)
    where: dict[Passage, list[tuple[int, Bits]]] = defaultdict(list)
    for number, own in enumerate(passages):
        for place, passage in enumerate(sorted(own)):
            if spread[passage] <= PHRASE:
                where[passage].append((number, 1 << place))
    lengths = sorted({len(passage) for passage in where})
    seen: dict[str, dict[int, Bits]] = {}
    for text in texts:
        if text.prompt not in seen:
            seen[text.prompt] = _shows(words_of(text.prompt), where, lengths)
    return [
        Piece(
            key=text.key,
            asks=frozenset(_asks(text)),
            about=frozenset(about[text.id]),
            shows=seen[text.prompt],
        )
        for text in texts
    ]


def words_of(text: str) -> list[str]:
    """Returns the words of a text as they are compared."""
    return WORD.findall(text.casefold())


def _passages(text: Text) -> Iterator[Passage]:
    for said in text.matter:
        words = words_of(said)
        for start in range(len(words) - WORDS + 1):
            yield tuple(words[start : start + WORDS])
    for said in text.evidence:
        words = words_of(said)
        if FEWEST <= len(words) < WORDS:
            yield tuple(words)


def _shows(
    words: Sequence[str],
    where: Mapping[Passage, Sequence[tuple[int, Bits]]],
    lengths: Sequence[int],
) -> dict[int, Bits]:
    found: dict[int, Bits] = defaultdict(int)
    for length in lengths:
        for start in range(len(words) - length + 1):
            for dialogue, bit in where.get(tuple(words[start : start + length]), ()):
                found[dialogue] |= bit
    return dict(found)


def _asks(text: Text) -> Iterator[str]:
    yield f"id {text.id}"
    yield f"question {' '.join(words_of(text.question))}"
    for said in text.evidence:
        words = words_of(said)
        if len(words) >= FEWEST:
            yield f"evidence {' '.join(words)}"
