"""Checks of arguments. A value of a wrong type is refused before anything is read or written."""

import math
import operator
from collections.abc import Iterable
from datetime import UTC, datetime
from numbers import Real
from typing import SupportsIndex, TypeAlias

from tsim.errors import InputError

# A datetime with a time zone, seconds since the epoch, or a text in ISO 8601.
Time: TypeAlias = float | datetime | str
# The times that calendars can show: the years 1 to 9999.
FIRST_MOMENT = datetime.min.replace(tzinfo=UTC).timestamp()
LAST_MOMENT = datetime.max.replace(microsecond=0, tzinfo=UTC).timestamp()


def whole(name: str, value: object) -> int:
    """Returns a whole number.

    Raises:
        InputError: It is something else; True, "3" and 3.0 are not whole numbers here.
    """
    if isinstance(value, SupportsIndex) and not isinstance(value, bool):
        return operator.index(value)
    raise InputError(f"{name}={value!r:.80} is not a whole number; pass an int")


def positive(**values: object) -> None:
    """Checks that numbers, where given, are whole and at least 1."""
    for name, value in values.items():
        if value is not None and whole(name, value) < 1:
            raise InputError(f"{name}={value} is out of range; it must be at least 1")


def share(name: str, value: object) -> float:
    """Returns a number between 0 and 1."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(f"{name}={value!r:.80} is not a number; it must be between 0 and 1")
    if not 0 <= _float(value) <= 1:
        raise InputError(f"{name}={value} is out of range; it must be between 0 and 1")
    return _float(value)


def moment(name: str, value: object) -> float:
    """Returns a time as seconds since the epoch.

    Args:
        name: The name of the argument.
        value: Seconds since the epoch, a datetime with a time zone, or a text in ISO 8601, which is
            UTC unless it says otherwise.

    Raises:
        InputError: It is something else, or outside the years 1 to 9999.
    """
    if isinstance(value, str):
        value = _iso(name, value)
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise InputError(f"{name}={value} has no time zone; add one, for example timezone.utc")
        return value.timestamp()
    if isinstance(value, bool) or not isinstance(value, Real) or value != value:
        raise InputError(
            f"{name}={value!r:.80} is not a time; pass seconds since the epoch, or a datetime with "
            "a time zone"
        )
    if not FIRST_MOMENT <= _float(value) <= LAST_MOMENT:
        raise InputError(
            f"{name}={value!r:.80} is not a time between the years 1 and 9999 in seconds since the "
            "epoch; divide milliseconds by 1000"
        )
    return _float(value)


def listed(name: str, values: object) -> list[str]:
    """Returns several names, without repetitions.

    Raises:
        InputError: There is none, or a single text was given in place of several.
    """
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(f"{name}={values!r:.80} is not a list; pass a list of names")
    found = list(dict.fromkeys(values))
    if not found:
        raise InputError(f"{name} is empty; name at least one")
    return found


def _float(value: Real) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number of more than 308 digits
        return math.inf


def _iso(name: str, text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise InputError(
            f"{name}={text!r:.80} is not a time; expected one such as 2026-05-01 or "
            "2026-05-01T14:00Z"
        ) from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
