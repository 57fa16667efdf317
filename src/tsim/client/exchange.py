"""What the outcome of an attempt means: a result, another attempt, or an exception.

Nothing is sent here.
"""

from dataclasses import dataclass
from typing import Generic, TypeVar

import httpx

from tsim.client.answers import error_of, read_problem
from tsim.client.call import Again, Call
from tsim.credentials import without_credentials
from tsim.errors import RemoteError, TsimError
from tsim.http import Patience, retry_after

T = TypeVar("T")

# A server that answers so may answer otherwise in a moment.
TEMPORARY = frozenset({429, 502, 503, 504})
SERVER_ERRORS, GATEWAY_TIMEOUT = 500, 504
# Nothing was sent if one of these happened.
UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
PASSING = (
    httpx.NetworkError,
    httpx.ProxyError,
    httpx.RemoteProtocolError,
    httpx.TimeoutException,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A failed attempt.

    Attributes:
        problem: What happened, in words.
        error: The exception of a server that said what is wrong.
        passing: Whether it may go better in a moment.
        unsent: Whether the server cannot have got the request.
        unwritten: Whether the server cannot have changed anything.
        asked: Seconds to wait, if the server said so.
    """

    problem: str
    error: TsimError | None = None
    passing: bool = False
    unsent: bool = False
    unwritten: bool = False
    asked: float | None = None

    def may_be_repeated(self, again: Again) -> bool:
        """Returns whether there should be another attempt."""
        match again:
            case Again.ALWAYS:
                return self.passing
            case Again.UNWRITTEN:
                return self.passing and self.unwritten
            case Again.UNSENT:
                return self.unsent


class Exchange(Generic[T]):
    """A call and its answer: decides after every attempt what is next."""

    def __init__(self, call: Call[T], shown: str, key: str | None, patience: Patience) -> None:
        """Begins without an attempt.

        Args:
            call: What is attempted.
            shown: The server, as it may be shown.
            key: The key, which may not.
            patience: How many attempts, and how long to wait between them.
        """
        self.call = call
        self._shown = shown
        self._key = key
        self._patience = patience
        self._failed = 0

    def settle(self, outcome: httpx.Response | httpx.RequestError) -> httpx.Response | float:
        """Returns the answer, or the seconds to wait before the next attempt.

        Raises:
            TsimError: There should be no other attempt.
        """
        if isinstance(outcome, httpx.Response) and outcome.is_success:
            return outcome
        failure = (
            self._refused(outcome) if isinstance(outcome, httpx.Response) else _broken(outcome)
        )
        self._failed += 1
        if self._failed < self._patience.attempts and failure.may_be_repeated(self.call.again):
            return self._patience.pause(self._failed - 1, failure.asked)
        cause = outcome if isinstance(outcome, PASSING) else None  # others may quote the key
        raise self._error(failure) from cause

    def broken_off(self, outcome: httpx.RequestError) -> RemoteError:
        """Returns the exception for an answer that began and did not end."""
        return RemoteError(f"{self._shown} broke off: {_broken(outcome).problem}; try again")

    def result(self, response: httpx.Response) -> T:
        """Reads an answer.

        Raises:
            RemoteError: It is something else.
        """
        try:
            return self.call.parse(response.content)
        except ValueError:
            said = self._without_key(response.text)[:200]
            hint = self.call.doubt or "is the address right, and is it a server of ours?"
            raise RemoteError(
                f"{self._shown} answered {self.call.method} {self.call.path} with something else: "
                f"{said!r}; {hint}"
            ) from None  # which quotes the answer, and that may quote the key

    def _refused(self, response: httpx.Response) -> Failure:
        status = response.status_code
        said = read_problem(response.headers.get("content-type", ""), response.content)
        text = said.detail if said else response.text[:200]
        where = f", which leads to {response.headers['location']}" if response.is_redirect else ""
        # Whatever a server of ours names did not happen, unless it is still at it.
        settled = said is not None and said.kind != TsimError.kind and status != GATEWAY_TIMEOUT
        return Failure(
            problem=self._without_key(without_credentials(f"HTTP {status}{where}: {text}")),
            error=None if said is None else error_of(said.kind, self._without_key(text)),
            passing=status in TEMPORARY,
            unwritten=status < SERVER_ERRORS or settled,
            asked=retry_after(response),
        )

    def _error(self, failure: Failure) -> TsimError:
        doubt = "" if failure.unwritten else self.call.doubt
        if failure.error is not None and not doubt:
            return failure.error
        times = "" if self._failed == 1 else f" {self._failed} times, last"
        hint = doubt or "is the server up, and is the address right?"
        return RemoteError(f"{self._shown} failed{times} with {failure.problem}; {hint}")

    def _without_key(self, text: str) -> str:
        return text.replace(self._key, "…") if self._key else text


def _broken(error: httpx.RequestError) -> Failure:
    unsent = isinstance(error, UNSENT)
    # The message of a local error quotes the header, which is the key.
    said = "" if isinstance(error, httpx.LocalProtocolError) else f": {error}"
    return Failure(
        problem=without_credentials(f"{type(error).__name__}{said}"),
        passing=isinstance(error, PASSING),
        unsent=unsent,
        unwritten=unsent,
    )
