"""Keys: what they are for, how they are written, and how they are kept."""

import re
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError, VerifyMismatchError

from tsim.errors import InputError, StoreError
from tsim.server.access.principal import Principal, Scope
from tsim.server.access.statements import Statements
from tsim.server.names import check_namespace

# Secrets have 256 random bits, which nobody guesses, however fast a hash is. These are the least
# parameters that OWASP recommends, so that checking a key takes little memory and time.
HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
ID_BYTES = 6
SECRET_BYTES = 32
ID = re.compile(r"[0-9a-f]{12}")
TOKEN = re.compile(r"tsim_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
LABEL_LENGTH = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key, without its secret.

    Attributes:
        id: Its name, which is no secret.
        namespace: The only namespace that it is for; None for all.
        scopes: What it is for.
        label: A note about who has it.
        created: When it was made, in seconds since the epoch.
        expires: When it ends; None if never.
        revoked: When it was revoked; None if it was not.
    """

    id: str
    namespace: str | None
    scopes: frozenset[Scope]
    label: str = ""
    created: float
    expires: float | None = None
    revoked: float | None = None

    def valid(self, now: float) -> bool:
        """Returns whether it can be used at a time."""
        return self.revoked is None and (self.expires is None or now < self.expires)

    @property
    def principal(self) -> Principal:
        """Whoever has it."""
        return Principal(namespace=self.namespace, scopes=self.scopes, key=self.id)


def new_key(
    *,
    namespace: str | None,
    scopes: Collection[Scope],
    label: str = "",
    expires: float | None = None,
    now: float,
) -> Key:
    """Returns a new key, which is kept nowhere yet.

    Args:
        namespace: The only namespace that it is for; None for all.
        scopes: What it is for.
        label: A note about who has it.
        expires: When it ends, in seconds since the epoch; None for never.
        now: The time.

    Raises:
        InputError: It would be for nothing, or cannot be kept as it is.
    """
    if namespace is not None:
        check_namespace(namespace)
    if not scopes:
        raise InputError(f"a key without scopes is for nothing; use {', '.join(Scope)}")
    if len(label) > LABEL_LENGTH:
        raise InputError(f"the label has {len(label)} characters; the most are {LABEL_LENGTH}")
    try:
        label.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"the label is not text in UTF-8 (character {error.start})") from error
    if expires is not None and expires <= now:
        raise InputError("the key would have expired already; pass a time to come, such as 90d")
    return Key(
        id=secrets.token_hex(ID_BYTES),
        namespace=namespace,
        scopes=frozenset(scopes),
        label=label,
        created=now,
        expires=expires,
    )


def new_secret() -> str:
    """Returns a new secret."""
    return secrets.token_urlsafe(SECRET_BYTES)


def token_of(key: str, secret: str) -> str:
    """Returns what a client sends."""
    return f"tsim_{key}_{secret}"


def parts_of(token: str) -> tuple[str, str]:
    """Returns the id and the secret of what a client sends; no id if it is no key at all."""
    found = TOKEN.fullmatch(token)
    return (found[1], found[2]) if found else ("", token)


def hash_of(secret: str) -> str:
    """Returns what is kept of a secret."""
    return HASHER.hash(secret)


def fits(hashed: str, secret: str) -> bool:
    """Returns whether a hash is that of a secret; takes as long if it is not."""
    try:
        return HASHER.verify(hashed, secret.encode("utf-8", "surrogatepass"))
    except VerifyMismatchError:
        return False
    except (InvalidHashError, VerificationError) as error:
        raise StoreError(f"the hash of a key is damaged ({error}); revoke that key") from error


def insert(statements: Statements, key: Key, hashed: str) -> None:
    """Adds a key."""
    scopes = " ".join(sorted(key.scopes))
    row = (key.id, key.namespace, scopes, key.label, key.created, key.expires, key.revoked, hashed)
    statements.execute("INSERT INTO key VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)


def find(statements: Statements, key: str) -> tuple[Key, str] | None:
    """Returns a key and the hash of its secret; None if there is none of this id."""
    if not ID.fullmatch(key):  # SQLite would not take all that a text may be
        return None
    for *row, hashed in statements.execute("SELECT * FROM key WHERE id = ?", (key,)):
        return _key(row), hashed
    return None


def exist(statements: Statements) -> bool:
    """Returns whether there is any key."""
    ((found,),) = statements.execute("SELECT EXISTS (SELECT 1 FROM key)")
    return bool(found)


def listed(statements: Statements) -> list[Key]:
    """Returns all keys, the oldest first."""
    rows = statements.execute("SELECT * FROM key ORDER BY created, id")
    return [_key(row) for *row, _ in rows]


def mark_revoked(statements: Statements, key: str, at: float) -> None:
    """Marks a key as revoked."""
    statements.execute("UPDATE key SET revoked = ? WHERE id = ?", (at, key))


def _key(row: Sequence[Any]) -> Key:
    name, namespace, scopes, label, created, expires, revoked = row
    try:
        allowed = frozenset(map(Scope, scopes.split()))
    except ValueError as error:
        raise StoreError(f"key {name} is damaged ({error}); revoke it and make another") from error
    return Key(
        id=name,
        namespace=namespace,
        scopes=allowed,
        label=label,
        created=created,
        expires=expires,
        revoked=revoked,
    )
