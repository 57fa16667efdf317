"""Words that are marked inside a sentence."""

import re
from typing import Literal

Kind = Literal["plain", "code", "strong"]
_MARKED = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*")


def runs(text: str) -> list[tuple[Kind, str]]:
    """Splits a sentence into runs of plain, `code` and **strong** words."""
    out: list[tuple[Kind, str]] = []
    end = 0
    for found in _MARKED.finditer(text):
        out.append(("plain", text[end : found.start()]))
        code, strong = found.groups()
        out.append(("strong", strong) if code is None else ("code", code))
        end = found.end()
    out.append(("plain", text[end:]))
    return [run for run in out if run[1]]
