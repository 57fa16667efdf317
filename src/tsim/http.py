"""HTTP POST with retries of temporary failures; nothing secret is said about it."""

import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

import httpx

from tsim.credentials import without_credentials
from tsim.errors import InputError, RemoteError

RETRIED = frozenset({408, 409, 429, 500, 502, 503, 504})
# Attempts while a server has never answered: it is more likely absent than busy.
FIRST_ATTEMPTS = 3
CONNECTING = 10.0

# Clients whose server has answered at least once, whatever it said.
_answered: WeakSet[httpx.Client] = WeakSet()


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """Timeout and retry settings of a request."""

    timeout: float = 30.0
    attempts: int = 5
    first_wait: float = 0.5
    longest_wait: float = 60.0
    sleep: Callable[[float], None] = time.sleep

    def wait(self, attempt: int, asked: float | None) -> None:
        """Waits as long as the server asked, or else with exponential backoff and jitter."""
        self.sleep(self.pause(attempt, asked))

    def pause(self, attempt: int, asked: float | None) -> float:
        """Returns the seconds to wait after an attempt, counted from 0."""
        backoff = self.first_wait * 2.0**attempt * (1 + random.random())
        return min(self.longest_wait, backoff if asked is None else asked)

    @property
    def timeouts(self) -> httpx.Timeout:
        """The timeouts of a request; a server that is there accepts connections soon."""
        return httpx.Timeout(self.timeout, connect=min(CONNECTING, self.timeout))


def public_url(url: str) -> str:
    """Returns a base URL as it may be shown: without credentials, query and fragment.

    Raises:
        InputError: It is no URL of a server.
    """
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        parsed = httpx.URL()
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise InputError(
            f"{without_credentials(url)!r:.80} is no address of a server; expected "
            "http://HOST:PORT/v1 or https://HOST/v1"
        )
    return without_credentials(re.split(r"[?#]", url.rstrip("/"))[0])


def post(
    client: httpx.Client, url: str, body: dict[str, Any], patience: Patience
) -> httpx.Response:
    """Posts JSON and returns the first successful response.

    A server that has never answered is given up after a few attempts.

    Raises:
        RemoteError: The server rejected the request, or all attempts failed.
    """
    shown, problem, asked, attempt = public_url(url), "", None, 0
    while attempt < _attempts(client, patience):
        if attempt:
            patience.wait(attempt - 1, asked)
        attempt, asked = attempt + 1, None
        try:
            response = client.post(url, json=body, timeout=patience.timeouts)
        except httpx.LocalProtocolError:
            # Its message quotes the header, which is the API key.
            raise RemoteError(f"{shown}: a header cannot be sent; is the API key right?") from None
        except httpx.RequestError as error:
            problem = without_credentials(f"{type(error).__name__}: {error}")
            continue
        _answered.add(client)
        if response.is_success:
            return response
        problem = f"HTTP {response.status_code}: {_without_key(client, response.text)[:200]}"
        if response.status_code not in RETRIED:
            raise RemoteError(f"{shown} rejected the request with {problem}")
        asked = retry_after(response)
    never = "" if client in _answered else " without ever answering"
    raise RemoteError(
        f"{shown} failed {attempt} times{never}, last with {problem}; is the server up, and is the "
        "address right?"
    )


def _attempts(client: httpx.Client, patience: Patience) -> int:
    return patience.attempts if client in _answered else min(FIRST_ATTEMPTS, patience.attempts)


def _without_key(client: httpx.Client, text: str) -> str:
    """Returns what a server said, without the key that it may quote."""
    key = client.headers.get("authorization", "").removeprefix("Bearer ")
    return text.replace(key, "…") if key else text


def retry_after(response: httpx.Response) -> float | None:
    """Returns the seconds that a server asks to wait, if it says so."""
    try:
        return max(0.0, float(response.headers["retry-after"]))
    except (KeyError, ValueError):
        return None
