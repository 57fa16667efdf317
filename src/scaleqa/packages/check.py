"""Whether packages can be measured on: those of others are checked before anything is run."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from scaleqa.errors import DataError
from scaleqa.packages.absent import ABSENT
from scaleqa.packages.package import LETTER, Package, Question

# Names of directories and files; so they lead nowhere else.
NAME = re.compile(r"\w[\w.=-]{0,99}")


def check_packages(packages: Sequence[Package]) -> None:
    """Checks packages one by one and together.

    Raises:
        DataError: One of them cannot be measured on; the message says which and why.
    """
    if not isinstance(packages, Sequence) or not all(isinstance(p, Package) for p in packages):
        raise DataError(f"expected a list of packages, found {packages!r:.80}")
    problem = next(_problems(packages), None)
    if problem:
        raise DataError(problem)


def _problems(packages: Sequence[Package]) -> Iterator[str]:
    if not any(package.questions for package in packages):
        yield "there are no questions to ask"
    for name, times in Counter(package.name for package in packages).items():
        if times > 1:
            yield f"{times} packages are called {name!r:.80}; give each a name of its own"
    ids = Counter(question.id for package in packages for question in package.questions)
    for name, times in ids.items():
        if times > 1:
            yield f"{times} questions have the id {name!r:.80}; give each one of its own"
    for package in packages:
        for problem in _of_package(package):
            yield f"package {package.name!r:.80}: {problem}"


def _of_package(package: Package) -> Iterator[str]:
    if not NAME.fullmatch(package.name):
        yield (
            "its name is not one of a directory, of at most 100 letters, digits, '_', '.', '=' and "
            "'-', the first a letter, a digit or '_'"
        )
    if [turn.id for turn in package.stream] != list(range(len(package.stream))):
        yield "its turns are not numbered from 0, in order"
        return
    if not any(turn.text.strip() for turn in package.stream):
        yield "its thread says nothing"
    silent = next((turn.id for turn in package.stream if not turn.role.strip()), None)
    if silent is not None:
        yield f"turn {silent} has no role"
    for block in (*package.truth, *package.noise):
        outside = _outside(block.turns, len(package.stream))
        if outside:
            yield f"dialogue {block.source!r:.80} {outside}"
    for question in package.questions:
        problems = (*_of_question(question, len(package.stream)), *_of_quotes(question, package))
        for problem in problems:
            yield f"question {question.id!r:.80} {problem}"


def _of_question(question: Question, turns: int) -> Iterator[str]:
    if not question.question.strip():
        yield "asks nothing"
    if not question.evidence and ABSENT not in question.stress:
        yield (
            "has no evidence turns, so there is nothing to retrieve; if its matter never came up, "
            f"give it the stress label {ABSENT!r}"
        )
    outside = _outside(question.evidence, turns)
    if outside:
        yield f"gives as evidence what is not there: it {outside}"
    if question.options is not None and not question.options:
        yield "has options, but none to choose from; leave them out, or give some"
    if question.grader != LETTER or question.answer is None:
        return
    options = question.options or {}
    if question.answer not in options:
        yield (
            f"is graded by letter, and its answer {question.answer!r:.80} is none of its options "
            f"({', '.join(options)[:80] or 'it has none'}); add options, or choose another grader"
        )
    single = all(len(letter) == 1 and letter.isalnum() for letter in options)
    if not single or len({letter.casefold() for letter in options}) < len(options):
        yield (
            f"is graded by letter, and {', '.join(options)[:80]!r} are not single letters or "
            "digits, each another one in upper and lower case"
        )


def _of_quotes(question: Question, package: Package) -> Iterator[str]:
    if not question.quotes:
        return
    if len(question.quotes) != len(question.evidence):
        yield (
            f"has {len(question.quotes)} quotes for {len(question.evidence)} evidence turns; give "
            "one for each turn, or none"
        )
        return
    for turn, quote in zip(question.evidence, question.quotes, strict=True):
        text = package.stream[turn].text if 0 <= turn < len(package.stream) else ""
        if not quote.strip() or quote not in text:
            yield f"quotes {quote!r:.80}, which turn {turn} does not say; copy it word for word"


def _outside(found: Iterable[int], turns: int) -> str:
    """Says which of some turns the thread does not have; empty if it has all."""
    one = next((turn for turn in found if not 0 <= turn < turns), None)
    return "" if one is None else f"has turn {one}, and the thread has turns 0 to {turns - 1}"
