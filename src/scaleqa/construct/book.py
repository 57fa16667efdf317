"""The state of a construction: a fold over its receipts. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from scaleqa.construct.item import Decision, Item
from scaleqa.construct.lots import ids, lots
from scaleqa.construct.plan import Plan
from scaleqa.construct.prompting import Prompt, prompt
from scaleqa.construct.receipts import Added, Asked, Decided, Receipt, Replied
from scaleqa.construct.replies import GivenUpError, MalformedError, read_reply
from scaleqa.construct.tracks import Ask, Track
from tsim.embed import Embedder


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """A request that is due.

    Attributes:
        key: Its name.
        item: The item that it is about.
        ask: What is asked.
        prompt: What is sent.
        shelf: The dialogues that a reader picks from.
    """

    key: str
    item: Item
    ask: Ask
    prompt: Prompt
    shelf: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A reply that was not accepted and counts as a try.

    Attributes:
        key: The name of the request.
        reasons: Why, in words that whoever replied can act on.
        tries: How many tries the item has had at the step, this one included.
        most: How many it may have.
    """

    key: str
    reasons: tuple[str, ...]
    tries: int
    most: int

    @property
    def last(self) -> bool:
        """Whether the item is dropped for it."""
        return self.tries >= self.most


@dataclass(kw_only=True)
class Book:
    """The state after some receipts.

    Attributes:
        plan: The plan.
        track: What is constructed.
        items: The items by id, in the order in which they were begun.
        asked: Requests by key.
        replies: Replies by key.
        latest: The last reply to each kind of request about each item.
    """

    plan: Plan
    track: Track
    items: dict[str, Item] = field(default_factory=dict)
    asked: dict[str, Asked] = field(default_factory=dict)
    replies: dict[str, Replied] = field(default_factory=dict)
    latest: dict[tuple[str, str], str] = field(default_factory=dict)

    def take(self, receipts: Iterable[Receipt]) -> "Book":
        """Applies receipts in order; returns itself."""
        for receipt in receipts:
            match receipt:
                case Added():
                    for name in receipt.items:
                        self.items[name] = self._new(name)
                case Asked():
                    self.asked[receipt.key] = receipt
                case Replied():
                    self.replies.setdefault(receipt.key, receipt)
                    if asked := self.asked.get(receipt.key):
                        self.latest[asked.item, asked.ask] = receipt.text
                case Decided():
                    for decision in receipt.decisions:
                        item = self.items[decision.item]
                        self.items[item.id] = item.after(decision)
                case _:
                    pass
        return self

    def _new(self, name: str) -> Item:
        domain = name.partition(":")[2].rpartition("-")[0]
        drawn = lots(self.plan, name, self.plan.domain(domain))
        return Item(id=name, domain=domain, lots=drawn, step=self.track.steps[0].name)

    @property
    def current(self) -> str | None:
        """The earliest step that has items, at which all of them are dealt with together."""
        there = {item.step for item in self.items.values() if not item.ended}
        return next((step.name for step in self.track.steps if step.name in there), None)

    def at(self, step: str) -> list[Item]:
        """Returns the items of a step, in order of their ids."""
        return sorted((i for i in self.items.values() if i.step == step), key=lambda i: i.id)

    def due(self, step: str) -> list[Ticket]:
        """Returns the requests of a step that have no reply yet, in order of their names."""
        everyone = [*self.items.values()]
        found = []
        for item in self.at(step):
            for ask in self.track.asks(item):
                key = item.key(self.plan.seed, ask.name)
                if key not in self.replies:
                    before = self.asked.get(key)
                    shelf = before.shelf if before else self.track.shelf(item, everyone)
                    sent = self._prompt(item, ask, shelf)
                    found.append(Ticket(key=key, item=item, ask=ask, prompt=sent, shelf=shelf))
        # The order of ids would tell readers what the names of requests do not.
        return sorted(found, key=lambda ticket: ticket.key)

    def _prompt(self, item: Item, ask: Ask, shelf: Sequence[str]) -> Prompt:
        before = self.latest.get((item.id, ask.name), "")
        reasons = item.reasons
        if ask.who == "reader":
            # The item's reasons are about all of its readings, and none for this reader to know.
            problem = _malformed(before, ask)
            reasons = (problem,) if problem else ()
        return prompt(ask, self.track.parts(item, ask, shelf), before, reasons)

    def decide(self, step: str, embedder: Embedder | None) -> list[Decision]:
        """Decides about the items of a step that have all their replies."""
        if not self.track.step(step).asks:
            fresh = self.at(step)
            judged = {item.id for item in fresh}
            others = [i for i in self.items.values() if i.id not in judged and i.step != "dropped"]
            return self.track.compare(step, fresh, others, embedder)
        found = []
        for item in self.at(step):
            wanted = {ask.name: item.key(self.plan.seed, ask.name) for ask in self.track.asks(item)}
            if all(key in self.replies for key in wanted.values()):
                found.append(self._decide(item, wanted))
        return found

    def _decide(self, item: Item, wanted: Mapping[str, str]) -> Decision:
        asks = {ask.name: ask for ask in self.track.step(item.step).asks}
        read, problems = {}, []
        for name, key in wanted.items():
            try:
                read[name] = read_reply(self.replies[key].text, asks[name].reply)
            except MalformedError as error:
                problems.append(str(error))
            except GivenUpError as error:
                return self.track.dropped(item, "given-up", [str(error)])
        if problems:
            return self.track.again(item, "malformed", problems, self.track.kept(item, read))
        shelves = [self.asked[key].shelf for key in wanted.values()]
        return self.track.decide(item, read, next((shelf for shelf in shelves if shelf), ()))

    def refused(self, keys: Iterable[str]) -> list[Refused]:
        """Returns which replies that nothing was decided by yet cannot be used, and why."""
        found = []
        for key in keys:
            item = self.items[self.asked[key].item]
            asks = {item.key(self.plan.seed, ask.name): ask for ask in self.track.asks(item)}
            if reasons := self._refusing(item, asks, key):
                tries, most = item.tries + 1, self.plan.tries
                found.append(Refused(key=key, reasons=reasons, tries=tries, most=most))
        return found

    def _refusing(self, item: Item, asks: Mapping[str, Ask], key: str) -> tuple[str, ...]:
        if problem := _malformed(self.replies[key].text, asks[key]):
            return (problem,)
        if any(one not in self.replies for one in asks):
            return ()
        decision = self._decide(item, {ask.name: one for one, ask in asks.items()})
        # A reply that is well-formed is not to blame for another that is not.
        return decision.reasons if decision.code in ("schema", "checks") else ()

    def wanted(self) -> list[str]:
        """Returns the ids of items to begin, so that as many are released as the plan says."""
        found: list[str] = []
        for domain in self.plan.domains:
            known = [item for item in self.items.values() if item.domain == domain.name]
            alive = sum(item.step != "dropped" for item in known)
            names = [n for n in ids(self.plan, domain, self.track.given) if n not in self.items]
            found += names[: max(0, domain.count - alive)]
        return found


def _malformed(text: str, ask: Ask) -> str | None:
    try:
        read_reply(text, ask.reply)
    except MalformedError as error:
        return str(error)
    except GivenUpError:
        pass
    return None
