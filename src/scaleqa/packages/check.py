"""Whether packages can be measured on: data sets of others are checked before anything is run."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from scaleqa.errors import DataError
from scaleqa.packages.absent import ABSENT
from scaleqa.packages.package import LETTER, Package, Question

NAME = re.compile(r"[\w][\w.=-]*")


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
            yield f"{times} packages are called {name!r}; give each a name of its own"
    ids = Counter(question.id for package in packages for question in package.questions)
    for name, times in ids.items():
        if times > 1:
            yield f"{times} questions have the id {name!r}; give each one of its own"
    for package in packages:
        for problem in _of_package(package):
            yield f"package {package.name!r}: {problem}"


def _of_package(package: Package) -> Iterator[str]:
    if not NAME.fullmatch(package.name):
        yield "its name is a directory's, of letters, digits, '.', '_', '=' and '-'"
    if [turn.id for turn in package.stream] != list(range(len(package.stream))):
        yield "its turns are numbered from 0, in order"
    if not any(turn.text.strip() for turn in package.stream):
        yield "its thread says nothing"
    for question in package.questions:
        for problem in _of_question(question, len(package.stream)):
            yield f"question {question.id!r} {problem}"


def _of_question(question: Question, turns: int) -> Iterator[str]:
    if not question.question.strip():
        yield "asks nothing"
    if not question.evidence and ABSENT not in question.stress:
        yield (
            "has no evidence turns, so there is nothing to retrieve; if its matter never came up, "
            f"give it the stress label {ABSENT!r}"
        )
    outside = [turn for turn in question.evidence if not 0 <= turn < turns]
    if outside:
        yield f"has evidence turn {outside[0]}, and the thread has turns 0 to {turns - 1}"
    if question.grader != LETTER or question.answer is None:
        return
    options = question.options or {}
    if question.answer not in options:
        yield (
            f"is graded by letter, and its answer {question.answer!r} is none of its options "
            f"({', '.join(options) or 'it has none'}); add options, or choose another grader"
        )
    if any(len(letter) != 1 for letter in options):
        yield f"is graded by letter, and {', '.join(options)} are not single letters"
