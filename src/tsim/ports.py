"""Where a server listens."""

import ipaddress
import socket

from tsim.errors import InputError

# Names and addresses by which only this machine reaches itself.
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
BACKLOG = 2048


def listen(host: str, port: int) -> socket.socket:
    """Opens the socket of a server.

    Args:
        host: An address of this machine.
        port: The port; 0 for a free one.

    Raises:
        InputError: The address is in use, or not of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, asyncio sends what it has at once, and does not wait for the other
    # side to acknowledge the headers of an answer before it sends the body.
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        found.close()
        raise InputError(
            f"cannot listen on {host}:{port}: {getattr(error, 'strerror', None) or error}; choose "
            "another address with --host and --port"
        ) from error
    return found


def address(host: str, port: int) -> str:
    """Returns the URL of a server."""
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}"


def is_loopback(host: str) -> bool:
    """Returns whether an address to listen on is reached by this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
