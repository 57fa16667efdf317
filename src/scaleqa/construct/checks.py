"""Pure checks of what was written: problems in words that a writer can act on."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np

from scaleqa.records.duplicates import COSINE_LIMIT, LEXICAL_LIMIT, shared_runs
from scaleqa.records.schema import LETTERS, Case, Record
from scaleqa.records.text import common_words, names, words
from scaleqa.records.validate import OPTION_WORDS, asking, lengths, phrasing
from tsim.embed import Embedder

# So many words of the right option in a row are its wording.
LIFTED = 4
# Words that are written with a capital and name nothing by themselves; a small set of records does
# not have them in lower case often enough to show it.
PLAIN = frozenset(
    "house street road lane row court park hall garden gardens club school church hospital museum "
    "cafe station square bridge hill north south east west "
    "aunt uncle great-aunt great-uncle".split()
)
Part = Literal["question", "dialogue"]
NAMED = re.compile(r"\b(option|answer|choice)\s+(is\s+)?[ABCD]\b(?!')")


def question_problems(question: str, options: Sequence[str]) -> list[str]:
    """Checks a question and its options, before there is a dialogue."""
    found = [finding.message for finding in asking("", question, options)]
    if len({option.strip().lower() for option in options}) != len(LETTERS):
        found.append("two options are the same")
    if not all(option.strip() for option in options):
        found.append("an option is empty")
    long = [option for option in options if len(option.split()) > OPTION_WORDS]
    found += [f"an option has more than {OPTION_WORDS} words: {option!r}" for option in long]
    sizes = [max(1, len(option.split())) for option in options]
    if max(sizes) > 3 * min(sizes) + 3:
        found.append(f"the options differ much in length: {sizes} words")
    return found


def record_problems(record: Record) -> list[str]:
    """Checks a record by itself."""
    findings = [*phrasing(record), *lengths(record)]
    return [*(finding.message for finding in findings), *leaks(record)]


def leaks(case: Case) -> list[str]:
    """Finds dialogues that give the answer away instead of the rule."""
    found = []
    right, said = words(case.option(case.answer)), f" {' '.join(words(case.text))} "
    if len(right) >= LIFTED and f" {' '.join(right)} " in said:
        found.append("the dialogue has the wording of the right option; state the rule instead")
    if named := NAMED.search(case.text):
        found.append(f"the dialogue says {named.group(0)!r}: options are not known there yet")
    return found


def taken(
    fresh: Sequence[str], questions: Mapping[str, str], said: Mapping[str, str]
) -> dict[str, list[str]]:
    """Finds questions whose names others use already; of two fresh ones, the later is told.

    Args:
        fresh: The ids of the items to judge, in order.
        questions: The question of each of them, by id.
        said: All that each item says, theirs too, by id.
    """
    common = common_words(said.values()) | PLAIN
    used = {name: names(text, common) for name, text in said.items()}
    settled = [name for name in said if name not in {*fresh}]
    found: dict[str, list[str]] = {}
    for one in fresh:
        own = names(questions[one], common)
        if both := sorted(own & {name for other in settled for name in used[other]}):
            found[one] = _rename(both)
        else:
            settled.append(one)
    return found


def intruding(
    fresh: Sequence[str], questions: Mapping[str, str], said: Mapping[str, str]
) -> dict[str, list[str]]:
    """Finds items that use a name by which the question of another is recognised.

    Args:
        fresh: The ids of the items to judge.
        questions: The question of every item, by id.
        said: All that every item says, by id.
    """
    common = common_words(said.values()) | PLAIN
    anchors = {name: names(text, common) for name, text in questions.items()}
    found = {}
    for one in fresh:
        own = names(said[one], common)
        others = {name for other, some in anchors.items() if other != one for name in some}
        if both := sorted(own & others):
            found[one] = _rename(both)
    return found


def _rename(taken_names: Sequence[str]) -> list[str]:
    return [f"the name {name!r} is taken by another record; use another" for name in taken_names]


def twins(
    fresh: Iterable[str],
    texts: Mapping[str, str],
    part: Part,
    embedder: Embedder | None = None,
) -> dict[str, list[str]]:
    """Finds near-duplicates; of two, the later in `fresh` is told, or the one that is fresh.

    Args:
        fresh: The ids of the items to judge, in order.
        texts: The question or dialogue of each item, by id.
        part: Which of both it is.
        embedder: Compares meanings as well, if given.
    """
    order = {name: place for place, name in enumerate(fresh, 1)}
    ids = [*texts]
    close = {
        pair: f"{value:.2f} of its five-word runs are shared"
        for pair, value in shared_runs([*texts.values()]).items()
        if value >= LEXICAL_LIMIT
    }
    if embedder and ids:
        vectors = embedder.embed([*texts.values()])
        near = np.argwhere(np.triu(vectors @ vectors.T, 1) >= COSINE_LIMIT[part])
        close |= {(int(a), int(b)): "it means nearly the same" for a, b in near}
    pairs = [
        (*sorted((ids[a], ids[b]), key=lambda name: order.get(name, 0)), why)
        for (a, b), why in close.items()
    ]
    found: dict[str, list[str]] = {}
    for first, second, why in sorted(pairs, key=lambda pair: order.get(pair[1], 0)):
        # A twin that has to change itself is no reason to change.
        if second in order and first not in found:
            problem = f"the {part} is nearly that of another record ({why}); make it another one"
            found.setdefault(second, []).append(problem)
    return found
