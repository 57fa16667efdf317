"""What must not be shown: API keys, and the credentials in URLs."""

import re

from tsim.errors import InputError

IN_URL = re.compile(r"(?<=://)[^/?#\s@]*@")


def without_credentials(text: str) -> str:
    """Returns a text without the user names and passwords of the URLs in it."""
    return IN_URL.sub("", text)


def authorization(key: str | None) -> dict[str, str]:
    """Returns the headers for an API key, if there is one.

    Raises:
        InputError: It has characters that no header can have; the message does not show it.
    """
    if not key:
        return {}
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise InputError(
            "the API key has a space, a line break or a character outside of ASCII, so it was not "
            "copied as it is; set it again"
        )
    return {"Authorization": f"Bearer {key}"}
