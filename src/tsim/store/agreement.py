"""Checks that a memory was written with the model and preset of the code that uses it."""

from collections.abc import Mapping
from typing import TypeAlias

from tsim.errors import MismatchError

# Settings that a memory must have, each with its accepted values.
Accepted: TypeAlias = Mapping[str, tuple[str, ...]]


def differing(found: Mapping[str, str], accepted: Accepted) -> list[str]:
    """Returns the names of settings that are missing or have none of the accepted values."""
    return [name for name, values in accepted.items() if found.get(name) not in values]


def require(location: str, found: Mapping[str, str], accepted: Accepted) -> None:
    """Raises an error if the settings of a memory changed while it was open.

    Args:
        location: Location of the memory, for the message.
        found: Its settings.
        accepted: The accepted settings.

    Raises:
        MismatchError: The settings differ.
    """
    if differing(found, accepted):
        raise MismatchError(
            f"the memory in {location} was rebuilt for {found.get('model')} and "
            f"{found.get('preset')} while it was open here; open it again"
        )
