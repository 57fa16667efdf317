"""Confirmations: a token shows that exactly these turns were shown a short while ago."""

import hashlib
import hmac
import json
import re
from dataclasses import astuple, dataclass

from tsim.errors import InputError

# Time to look at what would be forgotten.
SECONDS = 600
EXPIRY = re.compile(r"([0-9]{1,12})-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What was shown.

    Attributes:
        namespace: The namespace of the memory.
        thread: The name of the thread.
        turns: Ids of the turns, ascending.
        lines: Their beginnings: a thread that was forgotten and begun anew has the same ids.
    """

    namespace: str
    thread: str
    turns: tuple[int, ...]
    lines: tuple[str, ...]


def issue(secret: bytes, shown: Shown, now: float) -> str:
    """Returns the token for what is shown now."""
    return _token(secret, shown, int(now) + SECONDS)


def check(secret: bytes, token: str, shown: Shown, now: float) -> None:
    """Checks that a token was issued for this, and not too long ago.

    Raises:
        InputError: It was not.
    """
    written = EXPIRY.match(token)
    expires = int(written[1]) if written else 0
    expected = _token(secret, shown, expires)
    known = hmac.compare_digest(token.encode("utf-8", "replace"), expected.encode())
    if not known or expires < now:
        raise InputError(
            "confirm does not belong to these turns, or is older than "
            f"{SECONDS // 60} minutes; nothing was removed. Call forget without confirm, look at "
            "what it shows, and pass the confirm of that answer"
        )


def _token(secret: bytes, shown: Shown, expires: int) -> str:
    signed = json.dumps([expires, *astuple(shown)]).encode()
    return f"{expires}-{hmac.digest(secret, signed, hashlib.sha256).hex()[:32]}"
