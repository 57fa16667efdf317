"""Thread lengths in tokens: parsing and formatting."""

from scaleqa.errors import DataError

KILO = 1000
MOST_DIGITS = 12


def parse_target(text: str) -> int:
    """Parses a length: a number, optionally with the suffix k or M.

    Raises:
        DataError: The text is not a length.
    """
    scale = {"k": KILO, "m": KILO * KILO}.get(text[-1:].lower(), 1)
    digits = text[:-1] if scale > 1 else text
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= MOST_DIGITS):
        raise DataError(f"{text!r:.80} is no length; write tokens as 0, 5000, 16k, 128k or 1M")
    return int(digits) * scale


def length(target: int) -> str:
    """Formats a length so that `parse_target` can read it back."""
    if target < KILO * KILO:
        return f"{target / KILO:g}k" if target else "0"
    return f"{target / KILO / KILO:g}M"


def length_name(target: int | None) -> str:
    """Formats a length, with words for an unknown length and for target 0."""
    if target is None:
        return "unknown length"
    return length(target) if target else "evidence only"
