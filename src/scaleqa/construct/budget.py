"""What has been spent, what may be, and a gate that no request passes beyond that."""

import threading
from collections.abc import Iterable
from dataclasses import dataclass

from scaleqa.backends import Pace, Stop
from scaleqa.construct.plan import Budget
from scaleqa.construct.receipts import Asked, Failed, Receipt, Replied
from scaleqa.errors import ScaleqaError


class BudgetError(ScaleqaError):
    """The budget does not allow another request."""

    kind = "budget"
    exit_code = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What was spent.

    Attributes:
        calls: Requests that were sent, also those that failed.
        tokens: Tokens of prompts and replies.
        dollars: What they cost.
        in_doubt: Requests that may have been answered while nobody was there any more; they count
            with the most that they may have cost.
    """

    calls: int = 0
    tokens: int = 0
    dollars: float = 0.0
    in_doubt: int = 0


def spent(receipts: Iterable[Receipt]) -> Spent:
    """Adds up receipts."""
    calls = tokens = 0
    dollars = 0.0
    doubtful: dict[str, Asked] = {}
    lost: list[Asked] = []
    for one in receipts:
        if isinstance(one, Asked) and one.tokens:
            if one.key in doubtful:
                lost.append(doubtful[one.key])
            doubtful[one.key] = one
        elif isinstance(one, Replied):
            doubtful.pop(one.key, None)
            calls += one.requests
            tokens += one.prompt_tokens + one.completion_tokens
            dollars += one.dollars
        elif isinstance(one, Failed):
            doubtful.pop(one.key, None)
            calls += one.requests
    lost += doubtful.values()
    return Spent(
        calls=calls + len(lost),
        tokens=tokens + sum(one.tokens for one in lost),
        dollars=round(dollars + sum(one.dollars for one in lost), 9),
        in_doubt=len(lost),
    )


class Gate:
    """Lets requests pass while the budget lasts; it is the pace of all backends.

    Before a reply comes, a request counts with the most that it may cost. A request that is
    repeated because it failed counts as another call.
    """

    def __init__(self, budget: Budget, before: Spent, stop: Stop, pace: Pace | None = None) -> None:
        """Starts from what was spent before; what is stopped is not counted."""
        self._budget = budget
        self._stop = stop
        self._pace = pace
        self._lock = threading.Lock()
        self._calls = before.calls
        self._tokens = before.tokens
        self._dollars = before.dollars
        self._own = threading.local()

    def reserve(self, tokens: int, dollars: float) -> None:
        """Sets aside what a request may cost.

        Raises:
            BudgetError: That would be too much; nothing is set aside then.
        """
        with self._lock:
            for name, sum_, most in (
                ("calls", self._calls + 1, self._budget.calls),
                ("tokens", self._tokens + tokens, self._budget.tokens),
                ("dollars", self._dollars + dollars, self._budget.dollars),
            ):
                if most is not None and sum_ > most:
                    raise BudgetError(_says(name, most))
            self._calls += 1
            self._tokens += tokens
            self._dollars += dollars
        self._own.sent = 0

    def settle(self, reserved: tuple[int, float], actual: tuple[int, float]) -> int:
        """Puts what was spent in the place of what was set aside; returns the requests sent."""
        sent: int = self._own.sent
        with self._lock:
            self._tokens += actual[0] - reserved[0]
            self._dollars += actual[1] - reserved[1]
        return sent

    def wait(self) -> None:
        """Counts a request that is about to be sent; the first of a call is set aside already.

        Raises:
            BudgetError: It is a repetition for which no call is left.
            StoppedError: The work was ended, and nothing more is sent.
        """
        if self._pace:
            self._pace.wait()
        self._stop.check()
        sent = getattr(self._own, "sent", 0)
        if sent:
            with self._lock:
                most = self._budget.calls
                if most is not None and self._calls + 1 > most:
                    raise BudgetError(_says("calls", most))
                self._calls += 1
        self._own.sent = sent + 1


def _says(name: str, most: float) -> str:
    shown = f"${most:g}" if name == "dollars" else f"{most:,} {name}"
    return (
        f"the budget of {shown} does not allow another request; what was made is kept, and the "
        "same command with a larger budget continues"
    )
