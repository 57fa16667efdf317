"""Ways to write a value: each takes one and returns text."""

from collections.abc import Callable, Sequence
from typing import Any

Form = Callable[[Any], str]


def text(value: object) -> str:
    """Writes a value as it is."""
    return str(value)


def share(value: float) -> str:
    """Writes a share of one, or a cosine, to three places."""
    return f"{value:.3f}"


def percent(value: float) -> str:
    """Writes a share as per cent."""
    return f"{100 * value:.1f}\u00a0%"


def count(value: float) -> str:
    """Writes a number to the next whole one."""
    return f"{value:,.0f}"


def tenths(value: float) -> str:
    """Writes a number to one place."""
    return f"{value:,.1f}"


def fine(value: float) -> str:
    """Writes a number to two places."""
    return f"{value:,.2f}"


def signed(value: float) -> str:
    """Writes a difference of shares with its sign."""
    return f"{value:+.3f}"


def points(value: float) -> str:
    """Writes a difference of shares in percentage points, with its sign."""
    return f"{100 * value:+.1f}"


def span(value: Sequence[float]) -> str:
    """Writes an interval of shares."""
    low, high = value
    return f"{low:.3f} to {high:.3f}" if low < 0 else f"{low:.3f}–{high:.3f}"


def signed_span(value: Sequence[float]) -> str:
    """Writes an interval of a difference of shares, with signs."""
    low, high = value
    return f"{low:+.3f} to {high:+.3f}"


def percent_span(value: Sequence[float]) -> str:
    """Writes an interval of shares in per cent, without the sign."""
    low, high = value
    return f"{100 * low:.1f} to {100 * high:.1f}"


def points_span(value: Sequence[float]) -> str:
    """Writes an interval of a difference of shares in percentage points."""
    low, high = value
    return f"{points(low)} to {points(high)}"


def over_judges(form: Form) -> Form:
    """Writes lowest and highest value over judges; there is no such span where there is one."""
    return lambda value: form(value) if value else "one judge"
