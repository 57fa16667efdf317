"""Whose conversation a request belongs to."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from starlette.datastructures import Headers

from tsim.checking import check_name
from tsim.errors import AccessError, InputError, KeyMissingError
from tsim.server.access import Principal, Scope
from tsim.server.service import Service

KEY, THREAD, MEMORY = "x-tsim-key", "x-tsim-thread", "x-tsim-memory"
OWN_KEYS = "tsim_"
# Where programs put what tells a server who they are.
CREDENTIALS = ("authorization", "api-key", "x-api-key", "x-goog-api-key")
# How a request names whoever talks, among the users of a program.
USERS = ("user", "safety_identifier")
NOBODY = "anonymous"
DIGITS = 20
NAME_LENGTH = 128
REFUSED = (
    "this proxy needs a valid key of its own, sent as X-Tsim-Key: tsim_…; whoever runs it makes "
    "one with: tsim keys create"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a conversation is kept.

    Attributes:
        namespace: The memory.
        thread: The thread in it.
    """

    namespace: str
    thread: str


def namespace_of(headers: Headers, service: Service) -> str:
    """Returns the namespace of whoever sends a request. Blocks.

    Raises:
        AccessError: There are keys, and it has none that is valid, for one namespace.
    """
    if headers.get("authorization", "").partition(" ")[2].startswith(OWN_KEYS):
        raise AccessError(
            "Authorization holds a key of this proxy, which must not be sent on; send it as "
            "X-Tsim-Key, and the key of the model's server as Authorization"
        )
    principal = _principal(headers, service)
    principal.require(Scope.READ)
    principal.require(Scope.WRITE)
    if principal.key and principal.namespace is None:
        raise AccessError(
            "this key is for all namespaces; make one for a single namespace: tsim keys create "
            "--namespace NAME"
        )
    return principal.namespace or service.settings.default


def thread_of(headers: Headers, values: Mapping[str, Any]) -> str:
    """Returns the name of the thread that a request continues.

    It begins with a hash of what the caller shows to the server, so that no other caller can name
    it. Users that a request names are hashed with that.

    Raises:
        InputError: The name in the header cannot be one.
    """
    credentials = [headers.get(name, "") for name in CREDENTIALS]
    caller = _hashed(*credentials) if any(credentials) else NOBODY
    named = unquote(headers.get(THREAD, "")).strip()
    if named:
        if len(named) > NAME_LENGTH or not named.isprintable():
            raise InputError(
                f"X-Tsim-Thread is {named!r:.80}; expected a name of 1 to {NAME_LENGTH} printable "
                "characters, percent-encoded if they are not ASCII"
            )
        return check_name(f"{caller}/{named}")
    for name in USERS:
        if isinstance(user := values.get(name), str) and user:
            return f"{caller}.{_hashed(*credentials, user)}"
    return caller


def declined(headers: Headers) -> bool:
    """Returns whether a program asks that nothing is read or kept."""
    return headers.get(MEMORY, "").strip().lower() == "off"


def _principal(headers: Headers, service: Service) -> Principal:
    if not service.settings.keys and not service.gate.locked():
        return Principal()
    try:
        return service.gate.admit(headers.get(KEY, "").strip())
    except KeyMissingError:
        raise KeyMissingError(REFUSED) from None


def _hashed(*secrets: str) -> str:
    found = hashlib.sha256(b"tsim proxy")
    for secret in secrets:
        found.update(b"\0" + secret.encode("utf-8", "surrogatepass"))
    return found.hexdigest()[:DIGITS]
