"""Times as users write them, as seconds since the epoch."""

import re
from datetime import UTC, date, datetime
from numbers import Real
from typing import TypeAlias, cast

from tsim.errors import InputError

# A datetime with a time zone, a date, seconds since the epoch, or a text in ISO 8601.
Time: TypeAlias = float | date | str

RELATIVE = re.compile(r"(\d{1,6})\s*(min|h|d|w)")
SECONDS = re.compile(r"\d{9,12}(?:\.\d+)?")
UNITS = {"min": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
# The times that calendars can show: the years 1 to 9999.
FIRST = datetime.min.replace(tzinfo=UTC).timestamp()
LAST = datetime.max.replace(microsecond=0, tzinfo=UTC).timestamp()
EXPECTED = (
    "pass a datetime with a time zone, a date, seconds since the epoch, or an ISO 8601 text such "
    "as 2024-05-03 or 2024-05-03T14:00Z"
)


def moment(value: Time, name: str) -> datetime:
    """Returns a time as a datetime with a zone; UTC if the value has none of its own.

    Args:
        value: The time. A date alone means its beginning.
        name: The argument it was passed as, for the message.

    Raises:
        InputError: The value is not a time, or is a datetime without a zone.
    """
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise InputError(f"{name}={value} has no time zone; add one, for example timezone.utc")
        return value
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    if isinstance(value, str):
        try:
            found = datetime.fromisoformat(value.strip())
        except ValueError:
            raise InputError(f"{name}={value!r:.80} is not a time; {EXPECTED}") from None
        return found if found.tzinfo else found.replace(tzinfo=UTC)
    return datetime.fromtimestamp(_number(value, name), UTC)


def seconds(value: Time, name: str) -> float:
    """Returns a time as seconds since the epoch; the arguments are those of `moment`."""
    timed = isinstance(value, date | str)
    return moment(value, name).timestamp() if timed else _number(value, name)


def _number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or value != value:
        raise InputError(f"{name}={value!r:.80} is not a time; {EXPECTED}")
    if not FIRST <= cast(float, value) <= LAST:  # whole numbers of any size can be compared
        raise InputError(
            f"{name}={value!r:.80} is not a time between the years 1 and 9999 in seconds since the "
            "epoch; divide milliseconds by 1000"
        )
    return float(value)


def before(text: str, now: datetime) -> Time:
    """Returns the time that a text such as `30min`, `12h`, `7d` or `2w` means: so long before now.

    `now` is now. Digits alone are seconds since the epoch. Any other text is returned unchanged.
    """
    return _relative(text, now, -1)


def ahead(text: str, now: datetime) -> Time:
    """Returns the time that a text means, as `before`, but so long after now."""
    return _relative(text, now, 1)


def _relative(text: str, now: datetime, direction: int) -> Time:
    written = text.strip()
    if written == "now":
        return now
    if SECONDS.fullmatch(written):
        return float(written)
    found = RELATIVE.fullmatch(written)
    if not found:
        return text
    then = now.timestamp() + direction * int(found[1]) * UNITS[found[2]]
    inside = FIRST <= then <= LAST
    return datetime.fromtimestamp(then, UTC) if inside else then  # refused as a time
