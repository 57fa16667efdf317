"""Forms that change something: only pages of this server may send them.

A cookie that other sites cannot send (SameSite) is the first guard; where there are no keys there
is no cookie. So the browser must say that the form comes from here, and the form must have a token
that only its page knows, which is for one selection of one caller, and for a quarter of an hour.
"""

import hashlib
import hmac
import json
import time
from collections.abc import Callable

from fastapi import Request

from tsim.browsers import is_own
from tsim.errors import AccessError

LASTS = 900.0


class Tokens:
    """Signs selections. The secret lives as long as the server does."""

    def __init__(self, secret: bytes, clock: Callable[[], float] = time.time) -> None:
        """Signs with a secret.

        Args:
            secret: Nobody else may know it.
            clock: Tells the time.
        """
        self._secret = secret
        self._clock = clock

    def sign(self, *selection: str) -> str:
        """Returns a token for a selection."""
        return self._signed(int(self._clock() + LASTS), selection)

    def check(self, token: str, *selection: str) -> None:
        """Raises `AccessError` unless a token is for this selection and not too old."""
        ends = token.partition(".")[0]
        known = ends.isascii() and ends.isdigit() and len(ends) < 12
        if not known or not hmac.compare_digest(
            self._signed(int(ends), selection).encode(), token.encode("utf-8", "replace")
        ):
            raise AccessError("this form is not for what it names; look at the preview again")
        if int(ends) < self._clock():
            raise AccessError("this preview is too old; look at it again")

    def _signed(self, ends: int, selection: tuple[str, ...]) -> str:
        content = json.dumps([ends, *selection]).encode()
        return f"{ends}.{hmac.new(self._secret, content, hashlib.sha256).hexdigest()}"


def require_same_site(request: Request) -> None:
    """Raises `AccessError` unless a browser says that a form was sent by a page of this server."""
    if not is_own(request.headers):
        raise AccessError("forms of the inspector are sent from its own pages; open it and retry")
