"""Pure: whether rows are whole and agree with themselves, and with the packages they are about."""

from collections import Counter
from collections.abc import Iterator, Sequence, Set

from scaleqa.evaluate.rows import Row
from scaleqa.packages import Package
from scaleqa.packages.package import LETTER
from scaleqa.prompts import ABSTAIN
from tsim.toolkit import tokens

# Differences that are named; more are counted.
NAMED = 3


def doubled_or_missing(rows: Sequence[Row], *, sample: bool = False) -> Iterator[str]:
    """Finds questions with two rows, and places without one, which a sample may have."""
    by_package: dict[str, list[Row]] = {}
    for row in rows:
        by_package.setdefault(row.run.package, []).append(row)
    for name, own in by_package.items():
        ids = Counter(row.id for row in own)
        yield from (f"{name}: {count} rows for {id_}" for id_, count in ids.items() if count > 1)
        hashes = {row.run.package_sha256 for row in own}
        if len(hashes) > 1:
            yield f"{name}: rows of {len(hashes)} packages of this name"
        places = [row.place for row in own]
        missing = [] if sample else sorted({*range(max(places) + 1)} - {*places})
        if missing:
            yield f"{name}: no row for the questions at {_named(missing)}"
        elif len(ids) == len(own) and places != sorted(places):
            yield f"{name}: the rows are not in the order of the questions"


def contradictions(rows: Sequence[Row]) -> Iterator[str]:
    """Finds rows whose flags do not follow from the rest of the row."""
    for row in rows:
        gold = {*row.evidence}
        where = f"{row.run.package}, {row.id}"
        if row.hit != (bool(gold) and row.evidence_shown == len(gold)):
            yield (
                f"{where}: hit is {row.hit}, with {row.evidence_shown} of {len(gold)} evidence "
                "turns shown"
            )
        if detail := row.detail:
            shown = {*detail.shown}
            counted = (len(gold & shown), len(shown))
            if counted != (row.evidence_shown, row.turns_shown):
                yield (
                    f"{where}: evidence and turns shown are {row.evidence_shown} and "
                    f"{row.turns_shown}, by the turns that are named {counted[0]} and {counted[1]}"
                )
            if detail.context and tokens.by_words(detail.context) != row.context_tokens:
                yield f"{where}: the context has other than {row.context_tokens} tokens"
        if row.answered and row.grader == LETTER:
            said, correct = row.answered.answer, row.answered.correct
            if row.answered.abstained:
                said = ABSTAIN
            # Nothing else is right where it may be said that a matter which never came up did not.
            right = row.gold if row.present or not row.may_abstain else ABSTAIN
            if correct != (said is not None and said == right):
                yield f"{where}: {said} is graded {correct}, and {right} is right"


def shown_known(rows: Sequence[Row]) -> bool:
    """Returns whether rows name the turns that were shown."""
    return all(row.detail is not None for row in rows)


def differences(
    rows: Sequence[Row], packages: Sequence[Package], sample: Set[str] | None = None
) -> Iterator[str]:
    """Finds what rows say otherwise than the packages that they claim to be about.

    Args:
        rows: The rows.
        packages: The packages of the data set.
        sample: Ids of the questions that were to be asked; None for all.
    """
    wanted = {
        package.name: [one.id for one in package.questions if sample is None or one.id in sample]
        for package in packages
    }
    # A small sample may leave out a package.
    known = {package.name: package for package in packages if wanted[package.name]}
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.run.package, []).append(row)
    if {*found} != {*known}:
        yield f"rows are about {_named(sorted(found))}; the data set has {_named(sorted(known))}"
    for name in sorted({*found} & {*known}):
        package, own = known[name], found[name]
        claimed = own[0].run.package_sha256
        if claimed != package.sha256:
            yield f"{name}: sha256 {claimed}, rebuilt it is {package.sha256}"
        if sample is not None:
            yield from (f"{name}: {line}" for line in _other_questions(own, wanted[name]))
        elif len(own) != len(package.questions):
            yield f"{name}: {len(own)} rows for {len(package.questions)} questions"
        yield from (f"{name}, {line}" for row in own for line in _question(row, package))


def few(lines: Sequence[str]) -> str:
    """Joins some differences, and counts the rest."""
    more = f"; and {len(lines) - NAMED} more" if len(lines) > NAMED else ""
    return "; ".join(lines[:NAMED]) + more


def _other_questions(rows: Sequence[Row], wanted: Sequence[str]) -> Iterator[str]:
    asked = {row.id for row in rows}
    if missing := [id_ for id_ in wanted if id_ not in asked]:
        yield f"no row for {_named(missing)} of the sample"
    if others := sorted(asked - {*wanted}):
        yield f"rows for {_named(others)}, not of the sample"


def _question(row: Row, package: Package) -> Iterator[str]:
    if not 0 <= row.place < len(package.questions):
        yield f"{row.id}: place {row.place}, of {len(package.questions)} questions"
        return
    asked = package.questions[row.place]
    pairs = {
        "id": (row.id, asked.id),
        "evidence": (row.evidence, asked.evidence),
        "gold": (row.gold, asked.answer),
        "grader": (row.grader, asked.grader),
        "split": (row.split, asked.split),
        "options": ([*(row.options or ())], [*(asked.options or ())]),
        "question": (row.question or asked.question, asked.question),
    }
    for what, (claimed, real) in pairs.items():
        if claimed != real:
            yield f"{row.id}: {what} is {claimed!r:.80}, in the package {real!r:.80}"
    if row.run.stream_turns != len(package.stream):
        yield f"{row.id}: a thread of {row.run.stream_turns} turns, it has {len(package.stream)}"


def _named(values: Sequence[object]) -> str:
    more = f" and {len(values) - NAMED} more" if len(values) > NAMED else ""
    return ", ".join(map(str, values[:NAMED])) + more
