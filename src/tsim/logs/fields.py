"""The names that the parts of a message have in different logs, and how their values are read."""

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tsim.errors import InputError
from tsim.types import USER_ROLE

# In order of preference; a message may have several of them.
ROLE = ("role", "from", "speaker", "sender", "sender_name", "author", "name", "username", "user")
TEXT = ("text", "content", "value", "message", "body", "parts", "utterance")
TIME = (
    *("at", "timestamp", "timestamp_ms", "created_at", "createdat", "createdAt", "create_time"),
    *("created_date", "created", "sent_at", "time", "date_unixtime", "date", "datetime", "ts"),
)
ID = ("id", "uuid", "message_id", "messageId", "client_msg_id")
# What was asked and what was answered, where a record has both.
PROMPT = ("prompt", "instruction", "user_message")
REPLY = ("completion", "response", "reply", "assistant_message", "bot_message", "bot_response")
# What people are called in the records about them that messages contain.
PERSON = ("nickname", "display_name", "global_name", "real_name", "username", "name", "role")

# Other names of the roles that chat APIs know.
ROLES = {
    "human": "user",
    "prompter": "user",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "claude": "assistant",
    "ai": "assistant",
    "bot": "assistant",
    "function": "tool",
    "observation": "tool",
} | {name: name for name in ("user", "assistant", "model", "system", "developer", "tool")}

# 1.4.2026, 01.04.2026 9:30, 01.04.2026, 09:30:00+02:00
DOTTED = re.compile(
    r"(\d{1,2})\.(\d{1,2})\.(\d{4})"
    r"(?:,?[ T]\s*(\d{1,2})(:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?))?",
    re.ASCII,
)

# Seconds are below this number until the year 5138, milliseconds are above it since 1973.
MILLISECONDS = 1e11


def first(value: Mapping[str, Any], names: tuple[str, ...]) -> tuple[str, Any]:
    """Returns the first of the names that has a value, and the value; ("", None) if none has."""
    return next(((name, value[name]) for name in names if value.get(name) is not None), ("", None))


def role_of(value: Mapping[str, Any]) -> str:
    """Returns the role of a message, by the name that chat APIs use.

    Where several people are users, chat APIs have the `name` of each beside the role: it is used.
    Chats of teams have a record about the author, or beside the id of a user: its name is used.

    Raises:
        InputError: There is none, or it is not text.
    """
    name, role = first(value, ROLE)
    if not name:
        keys = ", ".join(map(str, value))
        raise InputError(
            f'role: missing; expected {{"role": "user", "text": "…"}}, found the keys: {keys:.80}'
        )
    about = value.get("user_profile") if name == "user" else role
    if isinstance(about, Mapping):
        role = next((one for key in PERSON if (one := about.get(key))), role)
    if not isinstance(role, str):
        raise InputError(f"{name}: expected text, found {role!r:.80}")
    found = ROLES.get(role.strip().lower(), role.strip())
    who = value.get("name")
    if found == USER_ROLE and name == "role" and isinstance(who, str) and who.strip():
        return who.strip()
    return found


def id_of(value: Mapping[str, Any]) -> str | None:
    """Returns the external id of a message; numbers are taken as text.

    Raises:
        InputError: It is neither text nor a whole number.
    """
    name, found = first(value, ID)
    if isinstance(found, int) and not isinstance(found, bool):
        return str(found)
    if found is None or isinstance(found, str):
        return found or None
    raise InputError(f"{name}: expected text or a whole number, found {found!r:.80}")


def seconds_of(value: object) -> float:
    """Returns a time as seconds since the epoch.

    Takes datetimes with a time zone, numbers of seconds or milliseconds, such numbers as text, ISO
    8601, and days before months with dots between. A text without a zone is taken as UTC.

    Raises:
        InputError: The value is not a time.
    """
    if isinstance(value, str):
        value = _from_text(value.strip())
    if isinstance(value, datetime) and value.tzinfo:
        return value.timestamp()
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            seconds = value / 1000 if abs(value) >= MILLISECONDS else float(value)
        except OverflowError:
            seconds = math.inf
        if abs(seconds) < MILLISECONDS:
            return seconds
    raise InputError(
        f"{value!r:.80} is not a time; expected seconds or milliseconds since the epoch, or a "
        "time with a zone such as 2026-05-01T12:00:00Z"
    )


def _from_text(text: str) -> object:
    try:
        return float(text)
    except ValueError:
        try:
            found = datetime.fromisoformat(_iso(text))
            return found if found.tzinfo else found.replace(tzinfo=UTC)
        except ValueError:
            return text


def _iso(text: str) -> str:
    """Returns a time whose day comes first, as it does where dots are between, as ISO 8601."""
    dotted = DOTTED.fullmatch(text)
    if dotted is None:
        return text
    day, month, year, hour, rest = dotted.groups()
    return f"{year}-{month:0>2}-{day:0>2}" + (f"T{hour:0>2}{rest}" if hour else "")
