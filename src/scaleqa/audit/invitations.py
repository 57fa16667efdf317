"""Invitations: a link for each rater, whose token is kept as a hash alone.

A token is printed once, when it is made. Whoever reads the files of an audit cannot rate in
another's name; a lost link is replaced by a new one, and what was rated stays.
"""

import hashlib
import hmac
import secrets
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from scaleqa.audit.items import Plan
from scaleqa.desk import Entry, Journal, Person, held, new_id, read_entries
from scaleqa.desk.journal import now
from scaleqa.errors import DataError

PLACE = "invitations"
FILE = "invitations.jsonl"
NAME = "rater-"
TOKEN_BYTES = 20


class Invitation(Entry):
    """One invitation; a later one for the same rater takes its place.

    Attributes:
        rater: The number of the rater.
        digest: Hash of the token.
        url: The address that the link begins with; invitations of earlier versions have none.
    """

    rater: Annotated[int, Field(ge=1)]
    digest: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    url: str | None = None


def invite(
    directory: Path,
    plan: Plan,
    *,
    raters: int,
    replace: Sequence[int] = (),
    url: str | None = None,
) -> dict[int, str]:
    """Invites raters up to a number, and replaces links; returns the new tokens by rater.

    Args:
        directory: The directory of the audit.
        plan: Its plan.
        raters: How many raters have a link in the end.
        replace: Raters whose links are replaced by new ones.
        url: The address that the links will begin with.

    Raises:
        DataError: The plan has fewer raters, or somebody to be replaced was not invited.
    """
    most = len(plan.orders)
    if raters > most:
        raise DataError(
            f"{raters} raters were asked for, and the plan has {most}; make a plan for more with: "
            "scaleqa audit plan --raters"
        )
    with held(directory / PLACE) as place:
        journal = Journal(place / FILE, Invitation)
        try:
            invited = {one.rater for one in journal.entries}
            unknown = sorted({*replace} - invited)
            if unknown:
                raise DataError(
                    f"rater {unknown[0]} was not invited, so there is no link to replace; invited "
                    f"are {', '.join(map(str, sorted(invited))) or 'none'}"
                )
            wanted = sorted({*replace, *range(1, raters + 1)} - (invited - {*replace}))
            tokens = {rater: secrets.token_hex(TOKEN_BYTES) for rater in wanted}
            for rater, token in tokens.items():
                journal.append(
                    Invitation(id=new_id(), at=now(), rater=rater, digest=_digest(token), url=url)
                )
            return tokens
        finally:
            journal.close()


def link(url: str, rater: int, token: str) -> str:
    """Returns the link of a rater."""
    return f"{url.rstrip('/')}/{NAME}{rater}/?token={token}"


def linked(directory: Path) -> dict[int, str]:
    """Returns the address that the link of each rater begins with, as far as it is known."""
    path = directory / PLACE / FILE
    found = read_entries(path, Invitation) if path.exists() else []
    last = {one.rater: one.url for one in found}
    return {rater: url for rater, url in sorted(last.items()) if url}


class Raters:
    """Who may rate: those with a valid invitation, as the file says now."""

    def __init__(self, directory: Path) -> None:
        """Takes the directory of an audit; invitations may come later."""
        self._path = directory / PLACE / FILE
        self._lock = threading.Lock()
        self._seen: tuple[int, int] | None = None
        self._digests: dict[int, str] = {}

    def get(self, name: str) -> Person | None:
        """Returns the rater of a name, if they were invited."""
        rater = number(name)
        return Person(name=name, role="rater") if rater in self._current() else None

    def admits(self, name: str, token: str) -> bool:
        """Returns whether a token is that of the rater's last invitation."""
        rater = number(name)
        known = self._current().get(rater or 0)
        # Compared also for raters who were not invited, which nobody should learn from the time.
        same = hmac.compare_digest(known or "0" * 64, _digest(token))
        return same and known is not None

    def cookie(self, name: str) -> str:
        """Returns the name of a rater's cookie; other audits at other ports have other ones."""
        place = f"{self._path.absolute()} {name}"
        return f"audit-{hashlib.sha256(place.encode()).hexdigest()[:12]}"

    def _current(self) -> dict[int, str]:
        """The digests by rater; read again if the file has changed, so that links end at once."""
        with self._lock:
            if not self._path.exists():
                return {}
            about = self._path.stat()
            seen = about.st_mtime_ns, about.st_size
            if seen != self._seen:
                found = read_entries(self._path, Invitation)
                self._digests = {one.rater: one.digest for one in found}
                self._seen = seen
            return self._digests


def number(name: str) -> int | None:
    """Returns the number of the rater of a name, if it is one."""
    digits = name.removeprefix(NAME)
    if digits == name or not (digits.isascii() and digits.isdigit()) or len(digits) > 6:
        return None
    return int(digits) if digits == str(int(digits)) else None


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
