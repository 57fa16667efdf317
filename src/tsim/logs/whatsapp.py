"""Chats exported by WhatsApp: `12/05/24, 14:03 - Anna: text`, or with the time in brackets."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from tsim.logs.records import Entry

LINE = re.compile(
    r"\[?(\d{1,4})([./-])(\d{1,2})[./-](\d{1,4}),?\s+"
    r"(\d{1,2})[:.](\d{2})(?:[:.](\d{2}))?(?:\s*([AaPp])\.?\s?[Mm]\.?)?(?:\]|\s+-)\s+(.*)"
)
SPOKEN = re.compile(r"([^:]{1,60}):\s(.*)", re.S)
# What stands for a photo or a deleted message, in some languages.
MEDIA = re.compile(
    r"<?(?:\w+[ ]){1,2}(?:omitted|weggelassen|ausgeschlossen|absente?s?|omitid[oa]s?|omess[oi])>?"
    r"|<?(?:Medien|médias|multimedia)[ ](?:ausgeschlossen|omis|omitido)>?"
    r"|.{1,120}[ ]\((?:file[ ]attached|Datei[ ]angehängt|fichier[ ]joint|archivo[ ]adjunto)\)"
    r"|<(?:attached|Anhang|pièce[ ]jointe|adjunto):.{1,120}>"
    r"|(?:This[ ]message[ ]was[ ]deleted|You[ ]deleted[ ]this[ ]message"
    r"|Diese[ ]Nachricht[ ]wurde[ ]gelöscht)\.?",
    re.IGNORECASE,
)
# What exports of iPhones put before a text that nobody typed.
NOTICE = "\u200e"
# Marks of the direction of writing, which exports put around names and numbers.
DIRECTION = dict.fromkeys([0x200E, 0x200F, 0x202A, 0x202B, 0x202C, 0xFEFF])


def is_chat(text: str) -> bool:
    """Returns whether one of the first lines looks like one of a chat."""
    return any(LINE.match(line.translate(DIRECTION)) for line in text.lstrip().split("\n", 5)[:5])


def read_chat(text: str) -> Iterator[Entry]:
    """Yields the messages of a chat; lines without a time continue the message before them.

    The order of day and month is taken from the dates of the whole file. If none of them tells, the
    times are left out. Times are taken as UTC.
    """
    found: list[tuple[int, re.Match[str], list[str]]] = []
    typed = {}
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.translate(DIRECTION)
        match = LINE.match(line)
        typed[number] = not raw.partition(": ")[2].startswith(NOTICE)
        if match:
            found.append((number, match, [match[9]]))
        elif found:
            found[-1][2].append(line)
        elif line.strip():
            yield f"line {number}", {"role": "system", "content": [{"type": "notice"}]}
    day_first = _day_first([match for _, match, _ in found])
    for number, match, lines in found:
        spoken = SPOKEN.match("\n".join(lines).rstrip())
        message: dict[str, object] = {"role": "system", "content": [{"type": "notice"}]}
        if spoken:
            role, said = spoken[1].strip(" ~"), spoken[2]
            media = MEDIA.fullmatch(said.strip())
            kind = "media" if media else None if typed[number] else "notice"
            message = {"role": role, "content": [{"type": kind}] if kind else said}
            message["time"] = _time(match, day_first) or "day and month cannot be told apart"
        yield f"line {number}", message


def _day_first(matches: Sequence[re.Match[str]]) -> bool | None:
    """Returns whether the day comes before the month; None if no date tells."""
    if any(int(match[1]) > 12 or match[2] == "." for match in matches):
        return True
    return False if any(int(match[3]) > 12 for match in matches) else None


def _time(match: re.Match[str], day_first: bool | None) -> str | None:
    one, two, three = int(match[1]), int(match[3]), int(match[4])
    if len(match[1]) == 4:
        year, month, day = one, two, three
    elif day_first is None:
        return None
    else:
        year, month, day = three, *((two, one) if day_first else (one, two))
    hour = int(match[5])
    if match[8]:
        hour = hour % 12 + (12 if match[8] in "Pp" else 0)
    year += 2000 if year < 100 else 0
    try:
        return datetime(
            year, month, day, hour, int(match[6]), int(match[7] or 0), tzinfo=UTC
        ).isoformat()
    except ValueError:
        return None
