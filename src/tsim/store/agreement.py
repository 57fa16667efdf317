"""Whoever writes to a memory and the memory itself must mean the same model and preset."""

from collections.abc import Mapping
from typing import TypeAlias

from tsim.errors import MismatchError

# Settings that a memory must have, each with the values that will do.
Accepted: TypeAlias = Mapping[str, tuple[str, ...]]


def differing(found: Mapping[str, str], accepted: Accepted) -> list[str]:
    """Names the settings that are missing or have none of the accepted values."""
    return [name for name, values in accepted.items() if found.get(name) not in values]


def require(location: str, found: Mapping[str, str], accepted: Accepted) -> None:
    """Refuses a memory whose settings changed while it was open.

    Args:
        location: Where the memory is kept.
        found: Its settings.
        accepted: What they must be.

    Raises:
        MismatchError: They are others.
    """
    if differing(found, accepted):
        raise MismatchError(
            f"the memory in {location} was rebuilt for {found.get('model')} and "
            f"{found.get('preset')} while it was open here; open it again"
        )
