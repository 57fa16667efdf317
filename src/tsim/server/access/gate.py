"""Access: the keys of a server and the log of what was done with them, in one place."""

import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from tsim.arguments import positive, whole
from tsim.errors import InputError, KeyMissingError
from tsim.server.access import audit, keys
from tsim.server.access.audit import Entry
from tsim.server.access.failures import Failures
from tsim.server.access.keys import Key, new_key
from tsim.server.access.ledger import open_ledger
from tsim.server.access.principal import ANY, Principal, Scope
from tsim.server.access.seen import Seen
from tsim.server.access.statements import Statements

# Keys whose secrets need not be hashed again.
REMEMBERED = 4096
# One text for whatever is wrong with a key, so that nobody learns which keys exist.
REFUSED = (
    "this needs a valid key, sent as Authorization: Bearer tsim_…; whoever runs the server makes "
    "one with: tsim keys create"
)


class Access:
    """Knows the keys, and logs what is done with them. Threads and processes may share them."""

    def __init__(
        self,
        place: Path | str,
        *,
        clock: Callable[[], float] = time.time,
        failures: Failures | None = None,
        remembered: int = REMEMBERED,
    ) -> None:
        """Opens the place of the keys, creating it if it is missing.

        Args:
            place: The file, or the address of a database, as text.
            clock: Returns the time in seconds since the epoch.
            failures: Bounds how many wrong keys are checked.
            remembered: Number of keys whose secrets need not be hashed again.

        Raises:
            StoreError: It is another file, is damaged, or cannot be used.
        """
        self._clock = clock
        self._failures = failures or Failures()
        self._checking = threading.Lock()
        self._seen = Seen(remembered)
        self._nobody = keys.hash_of(keys.new_secret())
        self._ledger = open_ledger(place)

    def admit(self, token: str) -> Principal:
        """Returns whose key this is.

        The key is looked up every time, so that it ends at once when it is revoked, here or by
        another process. Its secret is hashed the first time only.

        Raises:
            KeyMissingError: It is unknown, wrong, expired or revoked.
            TooManyError: Too many wrong keys were sent.
        """
        if not token:
            raise KeyMissingError(REFUSED)
        name, secret = keys.parts_of(token)
        with self._ledger.reading() as statements:
            found = keys.find(statements, name)
        key, hashed = found or (None, self._nobody)
        valid = key is not None and key.valid(self._clock())
        if not valid:
            self._seen.forget(name)
        elif key is not None and self._seen.knows(name, hashed, secret):
            return key.principal
        # A name that is made up must not get a bucket of its own.
        counted = name if key is not None else ""
        self._failures.expect(counted)
        with self._checking:
            fits = keys.fits(hashed, secret)
        if key is None or not (fits and valid):
            raise KeyMissingError(REFUSED)
        self._failures.take_back(counted)
        self._seen.add(name, hashed, secret)
        return key.principal

    def note(self, principal: Principal, action: str, namespace: str, **about: object) -> None:
        """Adds a line to the audit log; it is on the disk when this returns.

        Args:
            principal: Who did it.
            action: What was done.
            namespace: In which namespace.
            about: More about it: names, numbers and lists of them, and never texts of turns.
        """
        with self._ledger.writing() as statements:
            self._append(statements, action, namespace, about, key=principal.key)

    def create(
        self,
        *,
        namespace: str | None,
        scopes: Collection[Scope],
        label: str = "",
        expires: float | None = None,
    ) -> tuple[Key, str]:
        """Makes a key, and logs it; the arguments are those of `new_key`.

        Returns:
            The key, and what its owner sends, which is kept nowhere.

        Raises:
            InputError: One of the arguments cannot be used.
        """
        now = self._clock()
        key = new_key(namespace=namespace, scopes=scopes, label=label, expires=expires, now=now)
        return key, self.add(key)

    def add(self, key: Key) -> str:
        """Adds a new key, and logs it.

        Returns:
            What its owner sends, which is kept nowhere.
        """
        secret = keys.new_secret()
        hashed = keys.hash_of(secret)
        about: dict[str, object] = {"key": key.id, "scopes": sorted(key.scopes)}
        about |= {"label": key.label} if key.label else {}
        about |= {"expires": key.expires} if key.expires is not None else {}
        with self._ledger.writing() as statements:
            keys.insert(statements, key, hashed)
            self._append(statements, audit.CREATE_KEY, key.namespace or ANY, about)
        return keys.token_of(key.id, secret)

    def keys(self) -> list[Key]:
        """Returns all keys, also expired and revoked ones, the oldest first."""
        with self._ledger.reading() as statements:
            return keys.listed(statements)

    def locked(self) -> bool:
        """Returns whether there is a key, be it expired or revoked: what was locked stays so."""
        with self._ledger.reading() as statements:
            return keys.exist(statements)

    def usable(self) -> bool:
        """Returns whether there is a key that is neither expired nor revoked."""
        now = self._clock()
        return any(key.valid(now) for key in self.keys())

    def revoke(self, name: str) -> Key:
        """Ends a key at once, and logs it; one that was revoked already stays as it is.

        Args:
            name: The id of the key, or the whole key.

        Raises:
            InputError: There is no such key.
        """
        name = keys.parts_of(name)[0] or name
        with self._ledger.writing() as statements:
            found = keys.find(statements, name)
            if found is None:
                raise InputError(f"there is no key {name!r:.20}; tsim keys list shows their ids")
            key, _ = found
            if key.revoked is not None:
                return key
            now = self._clock()
            keys.mark_revoked(statements, name, now)
            self._append(statements, audit.REVOKE_KEY, key.namespace or ANY, {"key": name})
        self._seen.forget(name)
        return replace(key, revoked=now)

    def audit(self, *, after: int = 0, limit: int = 100) -> list[Entry]:
        """Returns lines of the audit log, in order.

        Args:
            after: Only lines with higher numbers than this.
            limit: The most lines to return.
        """
        positive(limit=limit)
        with self._ledger.reading() as statements:
            return audit.page(statements, whole("after", after), limit)

    def audit_head(self) -> tuple[int, str]:
        """Returns the number and the hash of the last line; 0 and nothing if there is none."""
        with self._ledger.reading() as statements:
            return audit.head(statements)

    def audit_problems(self) -> list[str]:
        """Checks the whole audit log; returns what is wrong with it."""
        with self._ledger.reading() as statements:
            return [*audit.problems(statements), *self._ledger.unguarded(statements)]

    @property
    def secret(self) -> bytes | None:
        """What all servers with these keys sign with; None if there is one server alone."""
        return self._ledger.secret

    def close(self) -> None:
        """Closes the place."""
        self._ledger.close()

    def _append(
        self,
        statements: Statements,
        action: str,
        namespace: str,
        about: Mapping[str, object],
        *,
        key: str = "",
    ) -> None:
        at = self._clock()
        audit.append(statements, at=at, key=key, action=action, namespace=namespace, about=about)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
