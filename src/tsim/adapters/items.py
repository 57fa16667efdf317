"""Items of key-value stores as turns: a namespace is a thread, a key the external id of a turn."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from tsim.adapters.keeping import OURS, keep, kept
from tsim.checking import check_name, check_turn
from tsim.errors import InputError
from tsim.types import Meta, NewTurn, Turn

Namespace: TypeAlias = tuple[str, ...]

# What the names of threads begin with that hold items.
PREFIX = "store"
# Between the labels of a namespace.
DOT = "."
# The speaker of items, and the form of what turns are made of.
ROLE, FORM = "memory", "item"
# Names in the meta of a turn: when the item was made, and whether searches leave it out.
CREATED, HIDDEN = f"{OURS}created", f"{OURS}hidden"


def thread_of(namespace: Namespace, prefix: str = PREFIX) -> str:
    """Returns the name of the thread that holds the items of a namespace.

    Raises:
        InputError: The namespace is empty, or a label is empty or has a dot.
    """
    wrong = [one for one in namespace if not isinstance(one, str) or not one or DOT in one]
    if wrong or not namespace:
        raise InputError(
            f"the namespace {namespace!r:.80} is invalid; expected one or more labels, which are "
            "text without dots"
        )
    return check_name(DOT.join((prefix, *namespace)))


def turn_of(
    key: str,
    value: Mapping[str, Any] | None,
    *,
    created: float,
    updated: float,
    hidden: bool = False,
) -> NewTurn:
    """Returns an item as a turn in which all text of the value can be searched for.

    Raises:
        InputError: The key or the value cannot be kept.
    """
    meta: Meta = {CREATED: created, HIDDEN: True} if hidden else {CREATED: created}
    turn = NewTurn(role=ROLE, text="", at=updated, id=key, meta=meta)
    return check_turn(keep(value, turn, FORM, label=key, every=True, always=True))


def created(turn: Turn) -> float:
    """Returns when an item was made."""
    made = (turn.meta or {}).get(CREATED)
    return float(made) if isinstance(made, int | float) else turn.at or 0.0


def is_hidden(turn: Turn) -> bool:
    """Returns whether searches leave an item out."""
    return bool((turn.meta or {}).get(HIDDEN))


def value_of(turn: Turn) -> dict[str, Any] | None:
    """Returns the value of an item; None if the turn is none."""
    value = kept(turn, FORM)
    return value if isinstance(value, dict) else None
