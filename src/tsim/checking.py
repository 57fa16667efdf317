"""What a turn must be to be kept."""

import math
import re
from dataclasses import replace

from tsim.codec import meta_to_text
from tsim.embed.protocol import require_text
from tsim.errors import InputError
from tsim.times import seconds
from tsim.types import Meta, NewTurn

MAX_CHARACTERS = 10_000_000
ROLE_LENGTH = 64
ROLE = re.compile(rf"[^\s\x00-\x1f](?:[^\r\n\x00-\x1f]{{0,{ROLE_LENGTH - 2}}}[^\s\x00-\x1f])?")
ID_LENGTH = 256
META_NAMES = 32
META_BYTES = 4096
MAX_INTEGER = 2**63
NAME_LENGTH = 200


def check_turn(turn: NewTurn) -> NewTurn:
    """Checks a turn and returns it, with the names of its meta sorted.

    Raises:
        InputError: The turn is invalid; the message says why.
    """
    if not isinstance(turn.role, str) or not ROLE.fullmatch(turn.role):
        raise InputError(
            f"role {turn.role!r:.80} is invalid; it must have 1 to {ROLE_LENGTH} printable "
            "characters and no line breaks"
        )
    require_text(turn.role)
    if not require_text(turn.text).strip():
        raise InputError(
            f"a {turn.role} turn is empty; a turn needs at least one visible character"
        )
    if len(turn.text) > MAX_CHARACTERS:
        raise InputError(
            f"a {turn.role} turn has {len(turn.text)} characters, more than {MAX_CHARACTERS}; "
            "split it, or store a reference to the document instead"
        )
    if turn.at is not None:
        turn = replace(turn, at=seconds(turn.at, "at"))
    if turn.id is not None:
        check_id(turn.id)
    return turn if turn.meta is None else replace(turn, meta=check_meta(turn.meta))


def check_meta(meta: Meta) -> Meta | None:
    """Checks what is noted about a turn; returns it sorted by name, or None if it is empty.

    Raises:
        InputError: It has too many names or bytes, or a value that is not simple.
    """
    if not isinstance(meta, dict):
        try:
            meta = dict(meta)
        except (TypeError, ValueError):
            raise InputError(
                f"meta is {meta!r:.80}; expected a mapping such as {{'channel': 'ops'}}"
            ) from None
    for name, value in meta.items():
        require_text(name)
        if isinstance(value, str):
            require_text(value)
        elif value is not None and not _is_number(value):
            raise InputError(
                f"meta {name!r:.80} is a {type(value).__name__} that cannot be kept; expected "
                "text, a whole number of 64 bits, a finite number, True, False or None"
            )
    if len(meta) > META_NAMES:
        raise InputError(f"meta has {len(meta)} names, at most {META_NAMES} are kept")
    size = len(meta_to_text(meta).encode())
    if size > META_BYTES:
        raise InputError(
            f"meta has {size} bytes as JSON, at most {META_BYTES} are kept; put long text into the "
            "turn"
        )
    return {name: meta[name] for name in sorted(meta)} or None


def check_id(name: object) -> str:
    """Checks an external id and returns it.

    Raises:
        InputError: It is not text of 1 to 256 characters.
    """
    if not isinstance(name, str) or not 1 <= len(name) <= ID_LENGTH:
        raise InputError(
            f"id={name!r:.80} is invalid; expected text of 1 to {ID_LENGTH} characters"
        )
    return require_text(name)


def check_name(name: object) -> str:
    """Checks the name of a thread and returns it.

    Raises:
        InputError: It is not text of 1 to 200 characters.
    """
    if not require_text(name).strip() or len(str(name)) > NAME_LENGTH:
        raise InputError(
            f"a thread name must have 1 to {NAME_LENGTH} characters, found {name!r:.80}"
        )
    return str(name)


def _is_number(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and -MAX_INTEGER <= value < MAX_INTEGER
