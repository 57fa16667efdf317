"""Characters as they are seen: several code points may be one, and some act on terminals."""

import re
import unicodedata

# How far a cut may be moved.
REACH = 32
JOINER = "\u200d"
# What terminals obey: control characters, apart from line breaks and tabs, and what turns the
# direction of writing or breaks lines unseen.
ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    r"""Returns a text for a terminal: what would act on it is written as an escape, as `\x1b`."""
    return ACTING.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def whole(text: str, at: int, least: int = 0) -> int:
    """Moves a cut back to the beginning of a character, if that is near.

    Args:
        text: The text that is cut.
        at: Where: before this code point.
        least: The cut is not moved to this place or before it.
    """
    if not least < at < len(text):
        return at
    for near in range(at, max(least, at - REACH), -1):
        if not _continues(text[near - 1], text[near]):
            return near
    return at


def _continues(before: str, char: str) -> bool:
    """Returns whether a code point is seen as part of the one before it."""
    return (
        JOINER in (before, char)
        or unicodedata.category(char) in ("Mn", "Me", "Mc")
        or "\U0001f3fb" <= char <= "\U0001f3ff"  # skin tones
        or ("\U0001f1e6" <= char <= "\U0001f1ff" and "\U0001f1e6" <= before <= "\U0001f1ff")
    )
