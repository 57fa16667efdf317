"""Headers on their way through: what is of one connection, or ours, stays here."""

from collections.abc import Iterable, Iterator
from typing import TypeAlias

Raw: TypeAlias = list[tuple[bytes, bytes]]

# Of a connection rather than a message (RFC 9110, 7.6.1).
HOP_BY_HOP = frozenset(
    {
        *(b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization"),
        *(b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade"),
    }
)
OURS = b"x-tsim-"
# The host is another, the length is counted again; cookies of other servers on this machine come
# with every request, since they know no ports.
NOT_SENT = frozenset({b"host", b"content-length", b"cookie", b"expect"})
# The server gives its own.
NOT_RETURNED = frozenset({b"date"})
ENCODING = b"accept-encoding"


def sent(headers: Iterable[tuple[bytes, bytes]], *, readable: bool) -> Raw:
    """Returns the headers that go to the other server.

    Args:
        headers: Those of the request.
        readable: Whether the answer is read here, so that it should not be compressed.
    """
    found = [one for one in _passing(headers) if one[0].lower() not in NOT_SENT]
    if readable:
        found = [one for one in found if one[0].lower() != ENCODING]
    if not any(name.lower() == ENCODING for name, _ in found):
        found.append((ENCODING, b"identity"))
    return found


def returned(headers: Iterable[tuple[bytes, bytes]]) -> Raw:
    """Returns the headers that go back to the program."""
    return [one for one in _passing(headers) if one[0].lower() not in NOT_RETURNED]


def _passing(headers: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
    every = [*headers]
    named = {
        token.strip().lower()
        for name, value in every
        if name.lower() == b"connection"
        for token in value.split(b",")
    }
    for name, value in every:
        lower = name.lower()
        if lower not in HOP_BY_HOP and lower not in named and not lower.startswith(OURS):
            yield name, value
