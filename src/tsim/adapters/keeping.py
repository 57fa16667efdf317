"""Values of JSON as turns that are found by their words and come back as they were."""

from typing import Any

from tsim.adapters.shape import lift, lower
from tsim.checking import META_BYTES
from tsim.codec import meta_to_text
from tsim.errors import InputError
from tsim.types import Meta, NewTurn, Turn

# The name in the meta of a turn under which the shape of what it was is kept; the shape is empty if
# it was too long.
SHAPE = "tsim:shape"


def keep(
    value: object,
    *,
    role: str,
    at: float | None = None,
    id: str | None = None,
    meta: Meta | None = None,
    label: str = "empty",
    every: bool = False,
) -> NewTurn:
    """Returns a value as a turn.

    Args:
        value: A value of JSON.
        role: The speaker.
        at: The time.
        id: The external id.
        meta: What else is noted about it.
        label: What it is called if no words are in it, such as `image`.
        every: Whether all text in it is words.
    """
    text, shape = lift(value, every=every)
    noted = {**(meta or {}), SHAPE: shape}
    if len(meta_to_text(noted).encode()) > META_BYTES:
        noted[SHAPE] = ""
    # A turn needs something visible; what is added behind the words moves none of them.
    visible = text if text.strip() else f"{text}({label})"
    return NewTurn(role=role, text=visible, at=at, id=id, meta=noted)


def kept(turn: Turn) -> Any:
    """Returns the value that a turn was made of; None if it was not, or if its shape was too long."""
    shape = (turn.meta or {}).get(SHAPE)
    if not isinstance(shape, str) or not shape:
        return None
    try:
        return lower(turn.text, shape)
    except InputError:  # somebody else's
        return None


def is_lost(turn: Turn) -> bool:
    """Returns whether a turn was made of a value whose shape was too long to be kept."""
    return (turn.meta or {}).get(SHAPE) == ""
