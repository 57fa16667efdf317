"""Tells the addresses of memories in a database from paths of files."""

# What an address looks like, for messages.
FORM = "postgresql://user@host/database#namespace"
DEFAULT_NAMESPACE = "default"
SCHEMES = ("postgresql://", "postgres://")


def is_address(place: object) -> bool:
    """Returns whether a text is the address of a database, and not the path of a file."""
    return isinstance(place, str) and place.startswith(SCHEMES)


def was_address(path: str) -> bool:
    """Returns whether a path was made from an address, which loses a slash."""
    return path.startswith(tuple(scheme[:-1] for scheme in SCHEMES))
