"""Lengths of threads in tokens, as users read and write them."""

from scaleqa.errors import DataError

KILO = 1000


def parse_target(text: str) -> int:
    """Reads a length: a number, or one with k or M.

    Raises:
        DataError: It is neither.
    """
    scale = {"k": KILO, "m": KILO * KILO}.get(text[-1:].lower(), 1)
    digits = text[:-1] if scale > 1 else text
    if not digits.isdigit():
        raise DataError(f"{text!r} is no length; write tokens as 0, 5000, 16k, 128k or 1M")
    return int(digits) * scale


def length(target: int) -> str:
    """Writes a length the way it is read."""
    if target < KILO * KILO:
        return f"{target / KILO:g}k" if target else "0"
    return f"{target / KILO / KILO:g}M"


def length_name(target: int | None) -> str:
    """Names a length in words where it is no number: none at all, or not known."""
    if target is None:
        return "unknown length"
    return length(target) if target else "evidence only"
