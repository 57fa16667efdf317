"""Addresses of memories in a Postgres database: `postgresql://user@host/database#namespace`."""

import re
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import quote, unquote

import psycopg
from psycopg.conninfo import conninfo_to_dict

from tsim.errors import InputError
from tsim.store.addresses import DEFAULT_NAMESPACE, FORM, is_address

NAMESPACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
# What is added to an address that does not say otherwise: nobody waits for ever for a server that
# is gone, and texts are what they are whatever the environment says.
DEFAULTS: dict[str, Any] = {
    "client_encoding": "utf8",
    "connect_timeout": 10,
    "fallback_application_name": "tsim",
    "keepalives_count": 3,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "tcp_user_timeout": 30_000,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a memory is.

    Attributes:
        parameters: What libpq connects with; may have a password.
        namespace: The namespace of the memory.
    """

    parameters: dict[str, Any]
    namespace: str

    @classmethod
    def parse(cls, url: str) -> Self:
        """Reads an address.

        Raises:
            InputError: It is no address; the message does not show it, as it may have a password.
        """
        if not is_address(url):
            raise InputError(f"expected an address of the form {FORM}, as text")
        place, _, fragment = url.partition("#")
        try:
            found = conninfo_to_dict(place)
        except psycopg.Error as error:
            # The reason may quote the address.
            raise InputError(
                f"the address of the database cannot be read; expected {FORM}, with characters "
                "such as @, / and # of a password written as %40, %2F and %23"
            ) from error
        return cls(
            parameters={**DEFAULTS, **found},
            namespace=check_namespace(unquote(fragment) or DEFAULT_NAMESPACE),
        )

    @property
    def place(self) -> str:
        """The address of the database, without password, for messages."""
        given = self.parameters
        host, port = str(given.get("host") or ""), str(given.get("port") or "").strip(",")
        user = f"{quote(str(given['user']), safe='')}@" if given.get("user") else ""
        base = f"postgresql://{user}{'' if host.startswith('/') else host}"
        base += f":{port}" if port and not host.startswith("/") else ""
        base += f"/{quote(str(given.get('dbname') or ''), safe='')}"
        return f"{base}?host={host}" if host.startswith("/") else base


def check_namespace(name: str) -> str:
    """Returns the name of a namespace.

    Raises:
        InputError: It has other characters.
    """
    if not NAMESPACE.fullmatch(name):
        raise InputError(
            f"{name!r:.80} is no namespace; expected 1 to 63 letters, digits, -, _ and dots, the "
            "first of them a letter or digit"
        )
    return name
