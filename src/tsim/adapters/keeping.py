"""Values of JSON as turns that are found by their words and come back as they were."""

import json
from dataclasses import replace
from typing import Any

from tsim.adapters.shape import lift, lower
from tsim.checking import META_BYTES
from tsim.codec import meta_to_text
from tsim.errors import InputError
from tsim.types import NewTurn, Turn

# The name in the meta of a turn under which the shape of what it was is kept; the shape is empty if
# it was too long.
SHAPE = "tsim:shape"
# The shape of a turn whose text is the value as JSON.
WHOLE = "json"


def keep(
    value: object,
    turn: NewTurn,
    *,
    label: str = "empty",
    every: bool = False,
    always: bool = False,
) -> NewTurn:
    """Returns a turn that says a value.

    Args:
        value: A value of JSON.
        turn: The turn, with a speaker and no text yet.
        label: What it says if no words are in the value, such as `image`.
        every: Whether all text in the value is words.
        always: Whether it must come back: if its shape is too long, the text is the value as JSON.
    """
    text, shape = lift(value, every=every)
    meta = {**(turn.meta or {}), SHAPE: shape}
    if len(meta_to_text(meta).encode()) > META_BYTES:
        meta[SHAPE] = WHOLE if always else ""
        text = json.dumps(value, ensure_ascii=False) if always else text
    # A turn needs something visible; what is added behind the words moves none of them.
    visible = text if text.strip() else f"{text}({label})"
    return replace(turn, text=visible, meta=meta)


def kept(turn: Turn) -> Any:
    """Returns the value that a turn was made of; None if there is none, or its shape is lost."""
    shape = (turn.meta or {}).get(SHAPE)
    if not isinstance(shape, str) or not shape:
        return None
    try:
        if shape == WHOLE:
            return json.loads(turn.text)
        return lower(turn.text, shape)
    except (InputError, ValueError, RecursionError):  # somebody else's
        return None


def is_lost(turn: Turn) -> bool:
    """Returns whether a turn was made of a value whose shape was too long to be kept."""
    return (turn.meta or {}).get(SHAPE) == ""
