"""`Server`: the address of a memory on a server, and how it is talked to."""

import ipaddress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx

from tsim.client.call import Call
from tsim.client.exchange import Exchange
from tsim.credentials import authorization
from tsim.errors import InputError
from tsim.http import Patience, public_url

T = TypeVar("T")

# Embedding what is added, and reading a long thread for its first search, take a while.
PATIENCE = Patience(timeout=120.0, attempts=4, longest_wait=30.0)
# Seconds that a connection stays open unused: less than servers keep theirs, which would otherwise
# close it while a request is on its way.
IDLE = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Where a memory is.

    Attributes:
        url: The address of the memory.
        shown: The address of the server as it may be shown.
        key: The key, if there is one.
        patience: Timeouts and retries.
    """

    url: str = field(repr=False)
    shown: str
    key: str | None = field(repr=False)
    patience: Patience

    def options(self) -> dict[str, Any]:
        """Returns the arguments of a client of httpx."""
        host = httpx.URL(self.url).host
        return {
            "headers": authorization(self.key),
            "timeout": self.patience.timeouts,
            "limits": httpx.Limits(keepalive_expiry=IDLE),
            # Nothing for this machine goes through a proxy.
            "mounts": {f"all://{_bracketed(host)}": None} if _is_loopback(host) else {},
        }

    def request(self, call: Call[Any], content: object = None) -> dict[str, Any]:
        """Returns the arguments of a request of httpx; `content` is sent in place of a body."""
        return {
            "method": call.method,
            "url": self.url + call.path,
            "params": list(call.query),
            "content": call.body if content is None else content,
            "headers": {"Content-Type": call.media_type} if call.method == "POST" else {},
        }

    def exchange(self, call: Call[T]) -> Exchange[T]:
        """Returns what decides about the attempts of a call."""
        return Exchange(call, self.shown, self.key, self.patience)


def find_server(url: str, *, key: str | None, namespace: str | None, patience: Patience) -> Server:
    """Checks where a memory is.

    Raises:
        InputError: The URL or the key cannot be one.
    """
    if not isinstance(url, str):
        raise InputError(f"url={url!r:.80} is not text; pass http://HOST:PORT or https://HOST")
    shown = public_url(url).removesuffix("/v1")
    parsed = httpx.URL(url)
    if parsed.query or parsed.fragment:
        raise InputError(f"the address of {shown} has a query or a fragment; leave it out")
    if key and parsed.userinfo:
        raise InputError(f"the address of {shown} has a password, and there is a key; give one")
    authorization(key)
    inner = "" if namespace is None else f"/namespaces/{_segment(namespace)}"
    base = url.rstrip("/").removesuffix("/v1")
    return Server(url=f"{base}/v1{inner}", shown=shown, key=key or None, patience=patience)


def _segment(namespace: str) -> str:
    if not isinstance(namespace, str) or not namespace.replace("-", "").replace("_", "").isalnum():
        raise InputError(
            f"{namespace!r:.80} is no namespace; expected letters, digits, - and _ alone"
        )
    return namespace


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
