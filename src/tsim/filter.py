"""Filters: which turns a search may return."""

from collections.abc import Sequence
from dataclasses import dataclass

from tsim.errors import InputError
from tsim.times import Time, seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """What the turns that a search returns must have in common; None: anything.

    Hashable, because engines cache by it.

    Attributes:
        since: The earliest time, in seconds since the epoch.
        until: The time before which they must be.
        roles: The speakers.
    """

    since: float | None = None
    until: float | None = None
    roles: frozenset[str] | None = None

    def __bool__(self) -> bool:
        """Returns whether it leaves anything out."""
        return self != ALL


ALL = Filter()


def make_filter(
    *, since: Time | None = None, until: Time | None = None, roles: Sequence[str] | None = None
) -> Filter:
    """Checks the arguments of a search and returns them as a filter.

    Raises:
        InputError: A value is invalid, or no turn can pass the filter.
    """
    first = None if since is None else seconds(since, "since")
    end = None if until is None else seconds(until, "until")
    if first is not None and end is not None and first >= end:
        raise InputError(f"since={since} is not before until={until}; no turn can be in between")
    return Filter(since=first, until=end, roles=_roles(roles))


def _roles(roles: Sequence[str] | None) -> frozenset[str] | None:
    if roles is None:
        return None
    if isinstance(roles, str) or not all(isinstance(role, str) for role in roles):
        raise InputError(f"roles={roles!r:.80} is not a list of names; pass roles=['user']")
    if not roles:
        raise InputError("roles is empty; name at least one speaker, or omit it")
    return frozenset(roles)
