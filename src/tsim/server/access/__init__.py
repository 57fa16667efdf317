"""Who may do what: keys, bound to a namespace, and a log of what was done with them.

`tsim.server.access.gate` has `Access`, which needs the extra `server`; what is here does not.
"""

from tsim.server.access.principal import ANY, EVERYTHING, Principal, Scope

__all__ = ["ANY", "EVERYTHING", "Principal", "Scope"]
