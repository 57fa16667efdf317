"""HTTP POST with retries of temporary failures."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx

from tsim.errors import RemoteError

RETRIED = frozenset({408, 409, 429, 500, 502, 503, 504})


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
        backoff = self.first_wait * 2.0**attempt * (1 + random.random())
        self.sleep(min(self.longest_wait, backoff if asked is None else asked))


def post(
    client: httpx.Client, url: str, body: dict[str, Any], patience: Patience
) -> httpx.Response:
    """Posts JSON and returns the first successful response.

    Raises:
        RemoteError: The server rejected the request, or all attempts failed.
    """
    problem = ""
    for attempt in range(patience.attempts):
        asked: float | None = None
        try:
            response = client.post(url, json=body, timeout=patience.timeout)
        except httpx.TransportError as error:
            problem = f"{type(error).__name__}: {error}"
        else:
            if response.is_success:
                return response
            problem = f"HTTP {response.status_code}: {response.text[:200]}"
            if response.status_code not in RETRIED:
                raise RemoteError(f"{url} rejected the request with {problem}")
            asked = _retry_after(response)
        if attempt + 1 < patience.attempts:
            patience.wait(attempt, asked)
    raise RemoteError(
        f"{url} failed {patience.attempts} times, last with {problem}; is the server up?"
    )


def _retry_after(response: httpx.Response) -> float | None:
    try:
        return max(0.0, float(response.headers["retry-after"]))
    except (KeyError, ValueError):
        return None
