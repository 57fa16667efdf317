"""Filters: which turns a search may return, or a forget removes."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypedDict

from tsim.arguments import listed
from tsim.errors import InputError
from tsim.times import Time, seconds
from tsim.types import Meta, Turn

# What was noted about turns, in a form that is equal for equal values: a name and JSON.
Notes: TypeAlias = frozenset[tuple[str, str]]


class Narrowing(TypedDict, total=False):
    """The arguments of a search that narrow it; described at `Thread.search`."""

    since: Time | None
    until: Time | None
    roles: Sequence[str] | None
    meta: Meta | None
    now: Time | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """What the turns that a search returns must have in common; None: anything.

    Hashable, because engines cache by it.

    Attributes:
        since: The earliest time, in seconds since the epoch.
        until: The time before which they must be.
        roles: The speakers.
        meta: What must have been noted about them.
    """

    since: float | None = None
    until: float | None = None
    roles: frozenset[str] | None = None
    meta: Notes | None = None

    def passes(self, turn: Turn) -> bool:
        """Returns whether a turn passes; one without a time passes no filter by time."""
        if self.roles is not None and turn.role not in self.roles:
            return False
        if self.meta is not None and not self.meta <= notes(turn.meta or {}):
            return False
        if self.since is None and self.until is None:
            return True
        if turn.at is None or (self.since is not None and turn.at < self.since):
            return False
        return self.until is None or turn.at < self.until

    def __bool__(self) -> bool:
        """Returns whether it leaves anything out."""
        return self != ALL


ALL = Filter()


def make_filter(
    *,
    since: Time | None = None,
    until: Time | None = None,
    roles: Sequence[str] | None = None,
    meta: Meta | None = None,
) -> Filter:
    """Checks the arguments of a search and returns them as a filter.

    Raises:
        InputError: A value is invalid, or no turn can pass the filter.
    """
    first = None if since is None else seconds(since, "since")
    end = None if until is None else seconds(until, "until")
    if first is not None and end is not None and first >= end:
        raise InputError(f"since={since} is not before until={until}; no turn can be in between")
    return Filter(since=first, until=end, roles=_roles(roles), meta=_meta(meta))


def notes(meta: Meta) -> Notes:
    """Returns what was noted about a turn in a form that can be compared.

    Equal numbers are equal, whether whole or not; True and False are not numbers.
    """
    return frozenset((name, _text(value)) for name, value in meta.items())


def _text(value: str | int | float | bool | None) -> str:
    whole = isinstance(value, float) and value.is_integer()
    return json.dumps(int(value) if whole else value)  # type: ignore[arg-type]  # a float if whole


def _meta(meta: Meta | None) -> Notes | None:
    if meta is None:
        return None
    simple = str | int | float | bool | None
    if not isinstance(meta, Mapping) or not all(
        isinstance(name, str) and isinstance(value, simple) for name, value in meta.items()
    ):
        raise InputError(
            f"meta={meta!r:.80} is not a mapping of names to text, numbers, booleans or None; pass "
            "meta={'channel': 'ops'}"
        )
    if not meta:
        raise InputError("meta is empty; give at least one name and value, or omit it")
    try:
        return notes(meta)
    except ValueError as error:  # a number of thousands of digits
        raise InputError(f"meta cannot be compared: {error}") from error


def _roles(roles: Sequence[str] | None) -> frozenset[str] | None:
    if roles is None:
        return None
    return frozenset(listed("roles", roles))
