"""Whoever sends a request, and what they may do."""

from dataclasses import dataclass, field
from enum import StrEnum

from tsim.errors import AccessError


class Scope(StrEnum):
    """What a key may be for."""

    READ = "read"
    WRITE = "write"
    FORGET = "forget"
    ADMIN = "admin"


EVERYTHING = frozenset(Scope)
# All namespaces, where a text is needed; it is the name of none.
ANY = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Whoever sends a request.

    Attributes:
        namespace: The only namespace they can reach; None for whichever they name.
        scopes: What they may do.
        key: The id of their key, which is no secret; empty without keys.
    """

    namespace: str | None = None
    scopes: frozenset[Scope] = field(default=EVERYTHING)
    key: str = ""

    def require(self, scope: Scope) -> None:
        """Raises `AccessError` if they may not do what the scope is for."""
        if scope not in self.scopes:
            having = ", ".join(sorted(self.scopes)) or "nothing"
            raise AccessError(f"this needs a key with the scope {scope}; this one has: {having}")
