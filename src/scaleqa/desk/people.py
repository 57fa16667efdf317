"""Who may use a desk: names with roles, and a token for each."""

import hashlib
import hmac
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from scaleqa.errors import DataError

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
# First parts of addresses that are not people.
TAKEN = frozenset({"assets"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody with a link.

    Attributes:
        name: The name, which is also the first part of all addresses of theirs.
        role: What they may do, in words of the room.
    """

    name: str
    role: str


class Admission(Protocol):
    """Who is let in, and by which token."""

    def get(self, name: str) -> Person | None:
        """Returns the person of a name, if there is one."""
        ...

    def admits(self, name: str, token: str) -> bool:
        """Returns whether a token is that of a person."""
        ...

    def cookie(self, name: str) -> str:
        """Returns the name of a person's cookie."""
        ...


class People:
    """Everybody with a link. Tokens are derived, so they are the same after a restart."""

    def __init__(self, secret: bytes, people: Iterable[Person]) -> None:
        """Takes people.

        Args:
            secret: What tokens are derived from; nobody else may know it.
            people: The people, in the order in which their links are shown.

        Raises:
            DataError: A name cannot be one, or occurs twice.
        """
        self._secret = secret
        self._people: dict[str, Person] = {}
        for person in people:
            if not NAME.fullmatch(person.name) or person.name in TAKEN:
                raise DataError(
                    f"{person.name!r:.80} cannot be the name of a person; use up to 40 small "
                    "letters, digits, - and _, such as ana"
                )
            if person.name in self._people:
                raise DataError(f"{person.name} is named twice; everybody has one role")
            self._people[person.name] = person

    def __iter__(self) -> Iterator[Person]:
        """Returns everybody."""
        return iter(self._people.values())

    def get(self, name: str) -> Person | None:
        """Returns the person of a name, if there is one."""
        return self._people.get(name)

    def token(self, name: str) -> str:
        """Returns the token of a person."""
        return hmac.new(self._secret, f"person {name}".encode(), hashlib.sha256).hexdigest()[:40]

    def admits(self, name: str, token: str) -> bool:
        """Returns whether a token is that of a person."""
        # Compared also for names that do not exist, which nobody should learn from the time.
        same = hmac.compare_digest(self.token(name).encode(), token.encode("utf-8", "replace"))
        return same and name in self._people

    def cookie(self, name: str) -> str:
        """Returns the name of a person's cookie; other desks at other ports have other ones."""
        return f"desk-{hashlib.sha256(self.token(name).encode()).hexdigest()[:12]}"

    def links(self, url: str) -> dict[str, str]:
        """Returns the link of each person, by name.

        Args:
            url: The address of the server.
        """
        return {name: f"{url}/{name}/?token={self.token(name)}" for name in self._people}
