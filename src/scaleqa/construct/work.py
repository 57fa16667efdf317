"""Carrying a plan out: asks what is due, step by step, until all is done or the budget is spent."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from scaleqa.backends import ChatModel, Message, Reply, Stop, StoppedError
from scaleqa.construct.book import Ticket
from scaleqa.construct.budget import BudgetError, Gate
from scaleqa.construct.plan import Plan, Who
from scaleqa.construct.receipts import Asked, Failed, Replied
from scaleqa.construct.site import Site
from tsim.errors import RemoteError
from tsim.toolkit import tokens

# So many requests in a row that fail are no longer a matter of single requests.
MOST_FAILURES = 3
Progress = Callable[[str], AbstractContextManager[Callable[[int, int], None]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Crew:
    """Who is asked, and within which bounds.

    Attributes:
        models: The models that can be asked at once.
        gate: The budget.
        stop: Ends the work early.
    """

    models: Mapping[Who, ChatModel]
    gate: Gate
    stop: Stop


def carry_out(site: Site, crew: Crew, progress: Progress) -> str | None:
    """Asks and decides until nothing is left, or until replies must come by file.

    Returns:
        The step that waits for replies by file; None if all is done.

    Raises:
        BudgetError: The budget does not allow another request.
        RemoteError: Requests failed; the same call continues.
        StoppedError: It was ended early.
    """
    while True:
        step = site.settle()
        if step is None:
            return None
        due = site.book.due(step)
        here = [ticket for ticket in due if ticket.ask.who in crew.models]
        if not here:
            return step
        with progress(step) as advance:
            _ask_all(site, crew, here, advance)


def _ask_all(
    site: Site, crew: Crew, tickets: Sequence[Ticket], advance: Callable[[int, int], None]
) -> None:
    start = len(site.ledger.receipts)
    round_ = _Round()
    advance(0, len(tickets))
    with ThreadPoolExecutor(site.book.plan.workers) as pool:
        waiting = {pool.submit(_ask, site, crew, one): one for one in tickets}
        try:
            for future in as_completed(waiting):
                round_.note(waiting[future], future.exception())
                if round_.ends:
                    break
                advance(round_.done, len(tickets))
        finally:
            if round_.done + len(round_.failed) < len(tickets):
                # Requests that are under way get their receipts, and no other is sent.
                for future in waiting:
                    future.cancel()
                # What the budget had room for is still asked.
                if not isinstance(round_.ending, BudgetError):
                    crew.stop.set()
    if round_.ends or not round_.done:
        raise round_.error(len(tickets))
    # Where others are answered, a request that fails is at fault itself, and is tried again.
    site.ledger.add(*(Replied(at=site.at, key=one.key, by="", text="") for one in round_.failed))
    site.book.take(site.ledger.receipts[start:])


@dataclass(kw_only=True)
class _Round:
    """How the requests of a step went."""

    done: int = 0
    in_row: int = 0
    failed: list[Ticket] = field(default_factory=list)
    ending: BaseException | None = None

    def note(self, ticket: Ticket, error: BaseException | None) -> None:
        if error is None:
            self.done += 1
            self.in_row = 0
            return
        if isinstance(error, RemoteError):
            self.failed.append(ticket)
            self.in_row += 1
            if self.in_row < MOST_FAILURES:
                self.last = error
                return
        self.ending = error

    @property
    def ends(self) -> bool:
        return self.ending is not None

    def error(self, total: int) -> BaseException:
        last = self.ending or self.last
        if not isinstance(last, RemoteError):
            return last
        return RemoteError(
            f"{len(self.failed)} of {total} requests failed, the last with: {last}; the others are "
            "kept, and the same command continues (what will never be answered can be given up: "
            'export it, and import {"drop": "why"} as the reply)'
        )

    last: BaseException = field(default_factory=StoppedError)


def _ask(site: Site, crew: Crew, ticket: Ticket) -> None:
    plan, who = site.book.plan, ticket.ask.who
    most = _most(plan, ticket)
    crew.stop.check()
    crew.gate.reserve(*most)
    model = crew.models[who]
    site.ledger.add(asked(site, ticket, tokens=most[0], dollars=most[1]))
    try:
        messages = [Message(role="user", content=ticket.prompt.text)]
        reply = model.chat(messages, most_tokens=plan.models.most_tokens)
    except (RemoteError, BudgetError, StoppedError) as error:
        sent = crew.gate.settle(most, (0, 0.0))
        problem = str(error) or "ended early"
        site.ledger.add(Failed(at=site.at, key=ticket.key, problem=problem, requests=sent))
        raise
    counted = _counted(ticket, reply)
    price = plan.models.price(who)
    cost = price.of(counted) if price else 0.0
    spent = (counted.prompt_tokens + counted.completion_tokens, cost)
    replied = Replied(
        at=site.at,
        key=ticket.key,
        by=model.identity,
        text=reply.text,
        prompt_tokens=counted.prompt_tokens,
        completion_tokens=counted.completion_tokens,
        dollars=cost,
        # A model on this machine sends none, but is asked once.
        requests=max(1, crew.gate.settle(most, spent)),
    )
    site.ledger.add(replied)


def asked(site: Site, ticket: Ticket, *, tokens: int = 0, dollars: float = 0.0) -> Asked:
    """Returns the receipt of a request that is about to be sent or exported."""
    return Asked(
        at=site.at,
        key=ticket.key,
        item=ticket.item.id,
        ask=ticket.ask.name,
        model=site.book.plan.models.spec(ticket.ask.who),
        prompt=ticket.prompt.name,
        sha256=ticket.prompt.sha256,
        shelf=ticket.shelf,
        tokens=tokens,
        dollars=dollars,
    )


def _most(plan: Plan, ticket: Ticket) -> tuple[int, float]:
    """Returns the most tokens and dollars that a request may take."""
    prompt, reply = tokens.estimate(ticket.prompt.text), plan.models.most_tokens
    price = plan.models.price(ticket.ask.who)
    whole = Reply(text="", prompt_tokens=prompt, completion_tokens=reply)
    return prompt + reply, price.of(whole) if price else 0.0


def _counted(ticket: Ticket, reply: Reply) -> Reply:
    """Returns a reply with its tokens, estimated where the provider does not count."""
    return Reply(
        text="",
        prompt_tokens=reply.prompt_tokens or tokens.estimate(ticket.prompt.text),
        completion_tokens=reply.completion_tokens or tokens.estimate(reply.text),
    )
