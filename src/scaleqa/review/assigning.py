"""Who reviews which record: the same for the same names, and everybody about the same."""

from collections.abc import Sequence
from itertools import combinations, islice

from scaleqa.errors import DataError

# Sets of reviewers that take turns; more would not make the work more even.
MOST = 10_000


def assign(records: int, reviewers: Sequence[str], each: int) -> list[tuple[str, ...]]:
    """Returns the reviewers of each record; all sets of reviewers take turns.

    Args:
        records: Number of records.
        reviewers: The names.
        each: Reviewers of each record.

    Raises:
        DataError: There are not so many reviewers.
    """
    if not reviewers:
        raise DataError("nobody reviews; name somebody with --reviewer ana")
    if not 1 <= each <= len(reviewers):
        raise DataError(
            f"--each is {each}, but there are {len(reviewers)} reviewers: expected 1 to "
            f"{len(reviewers)}"
        )
    groups = list(islice(combinations(reviewers, each), MOST))
    return [groups[number % len(groups)] for number in range(records)]


def others(number: int, reviewers: Sequence[str], assigned: Sequence[str]) -> list[str]:
    """Returns who is asked for second opinions about a record, in this order.

    Args:
        number: The place of the record, so that not everybody's first choice is the same.
        reviewers: The names.
        assigned: Those who review it anyway.
    """
    start = number % len(reviewers)
    turned = [*reviewers[start:], *reviewers[:start]]
    return [name for name in turned if name not in assigned]
