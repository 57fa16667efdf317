"""Who may do what: keys, bound to a namespace, and a log of what was done with them."""

from tsim.server.access.principal import EVERYTHING, Principal, Scope

__all__ = ["EVERYTHING", "Principal", "Scope"]
