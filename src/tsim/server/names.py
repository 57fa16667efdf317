"""The names of namespaces, which are also names of files."""

import re

from tsim.errors import InputError

FILE = ".db"
# Lower case alone, since some file systems do not distinguish cases.
NAMESPACE = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
# What Windows takes for devices, whatever follows the dot.
DEVICES = re.compile(r"con|prn|aux|nul|(com|lpt)[0-9]")


def check_namespace(name: str) -> str:
    """Returns the name of a namespace.

    Raises:
        InputError: It has other characters.
    """
    if not NAMESPACE.fullmatch(name) or DEVICES.fullmatch(name):
        raise InputError(
            f"{name!r:.80} is no namespace; expected 1 to 63 of the characters a-z, 0-9, - and _, "
            "the first of them a letter or digit, and no name of a device such as con"
        )
    return name
