"""Turns as the messages that a server reads: the same turns, whatever their speaker is called."""

from datetime import UTC, datetime
from typing import Any

from tsim.logs.fields import MILLISECONDS, ROLES
from tsim.types import USER_ROLE, NewTurn


def message(turn: NewTurn) -> dict[str, Any]:
    """Returns a turn that was checked as a message, from which it is read unchanged."""
    said: dict[str, Any] = {"role": turn.role, "text": turn.text}
    if ROLES.get(turn.role.strip().lower(), turn.role) != turn.role:
        # As a role it would be taken for another name of one; as the name of a user it is kept.
        said |= {"role": USER_ROLE, "name": turn.role}
    if turn.at is not None:
        far = abs(turn.at) >= MILLISECONDS  # as a number it would be taken for milliseconds
        said["at"] = datetime.fromtimestamp(turn.at, UTC).isoformat() if far else turn.at
    if turn.id is not None:
        said["id"] = turn.id
    if turn.meta is not None:
        said["meta"] = dict(turn.meta)
    return said
