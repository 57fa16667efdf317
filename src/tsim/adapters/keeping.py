"""Values of JSON as turns that are found by their words and come back as they were."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from tsim.adapters.shape import lift, lower
from tsim.checking import META_BYTES
from tsim.codec import meta_to_text
from tsim.errors import InputError
from tsim.types import NewTurn, Turn

# What begins the names under which adapters note something in the meta of a turn. Behind it is the
# form of what a turn was made of, whose shape is kept there; the shape is empty if it was too long.
OURS = "tsim:"
# The shape of a turn whose text is the value as JSON.
WHOLE = "json"


def keep(
    value: object,
    turn: NewTurn,
    form: str,
    *,
    label: str = "empty",
    every: bool = False,
    always: bool = False,
) -> NewTurn:
    """Returns a turn that says a value.

    Args:
        value: A value of JSON.
        turn: The turn, with a speaker and no text yet.
        form: What kind of value it is: only who knows the form gets it back.
        label: What it says if no words are in the value, such as `image`.
        every: Whether all text in the value is words.
        always: Whether it must come back: if its shape is too long, the text is the value as JSON.
    """
    text, shape = lift(value, every=every)
    name = OURS + form
    meta = {**(turn.meta or {}), name: shape}
    if len(meta_to_text(meta).encode()) > META_BYTES:
        meta[name] = WHOLE if always else ""
        text = json.dumps(value, ensure_ascii=False) if always else text
    # A turn needs something visible; what is added behind the words moves none of them.
    visible = text if text.strip() else f"{text}({label})"
    return replace(turn, text=visible, meta=meta)


def kept(turn: Turn, form: str) -> Any:
    """Returns the value that a turn was made of; None if it was of another form, or is lost."""
    shape = (turn.meta or {}).get(OURS + form)
    if not isinstance(shape, str) or not shape:
        return None
    try:
        return json.loads(turn.text) if shape == WHOLE else lower(turn.text, shape)
    except (InputError, ValueError, RecursionError):  # somebody else's
        return None


def is_made(turn: Turn) -> bool:
    """Returns whether a turn was made of a value of any form: its text is not all of it."""
    return any(name.startswith(OURS) for name in turn.meta or {})


def moment(at: float | None) -> datetime | None:
    """Returns a time of a turn, in UTC; None if there is none, or no calendar has it."""
    try:
        return None if at is None else datetime.fromtimestamp(at, UTC)
    except (OverflowError, OSError, ValueError):
        return None
