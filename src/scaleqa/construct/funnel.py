"""How many items each step kept, what readers answered, and what it cost: figures from receipts."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from scaleqa.construct.book import Book
from scaleqa.construct.budget import Spent, spent
from scaleqa.construct.receipts import Decided, Receipt
from scaleqa.records.schema import Wording
from scaleqa.stats import Interval, wilson


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One step.

    Attributes:
        step: Its name.
        reached: Items that came to it.
        passed: Items that went on from it.
        dropped: Items that were dropped there.
        repeated: How often items were tried again there, or sent back from there.
        why: The reasons for all that did not pass, and how often there was each.
    """

    step: str
    reached: int = 0
    passed: int = 0
    dropped: int = 0
    repeated: int = 0
    why: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A share of some, with Wilson's 95 % interval."""

    right: int
    of: int

    @property
    def value(self) -> float | None:
        """The share."""
        return self.right / self.of if self.of else None

    @property
    def interval(self) -> Interval | None:
        """Its interval."""
        return wilson(self.right, self.of) if self.of else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Funnel:
    """The figures of a construction.

    Attributes:
        begun: Items that were begun.
        released: Items that passed every step.
        dropped: Items that were dropped.
        stages: The steps.
        accepted: Items that passed every filter, of those that ended.
        liked: Items that readers accepted as they first saw them, of those that were read.
        open: Right answers with the dialogue, at the last reading of each item.
        first_open: The same at the first reading of each item.
        closed: Right answers without the dialogue, at the last reading of each item.
        first_closed: The same at the first reading of each item.
        spent: What was spent.
        waiting: The step that items wait at; None if all is done.
    """

    begun: int
    released: int
    dropped: int
    stages: tuple[Stage, ...]
    accepted: Share
    liked: Share
    open: Share
    first_open: Share
    closed: Share
    first_closed: Share
    spent: Spent
    waiting: str | None


def funnel(book: Book, receipts: Sequence[Receipt]) -> Funnel:
    """Counts."""
    reached: dict[str, set[str]] = {step.name: set() for step in book.track.steps}
    passed: dict[str, set[str]] = {name: set() for name in reached}
    counts: dict[str, Counter[str]] = {name: Counter() for name in reached}
    why: dict[str, Counter[str]] = {name: Counter() for name in reached}
    first: dict[str, bool] = {}
    early: dict[str, dict[str, bool]] = {"open": {}, "closed": {}}
    for name in book.items:
        reached[book.track.steps[0].name].add(name)
    for receipt in receipts:
        if not isinstance(receipt, Decided):
            continue
        for one in receipt.decisions:
            counts[receipt.step][one.verdict] += 1
            if one.verdict == "passed":
                passed[receipt.step].add(one.item)
            else:
                why[receipt.step][one.code] += 1
            if one.to in reached:
                reached[one.to].add(one.item)
            if receipt.step == book.track.reading and one.code != "malformed":
                first.setdefault(one.item, one.verdict == "passed")
                for mode, known in early.items():
                    if reading := one.made.get("readings", {}).get(mode):
                        known.setdefault(one.item, reading["answer"] == answer(book, one.item))
    ended = [item for item in book.items.values() if item.ended]
    released = sum(item.step == "released" for item in ended)
    return Funnel(
        begun=len(book.items),
        released=released,
        dropped=len(ended) - released,
        stages=tuple(
            Stage(
                step=name,
                reached=len(own),
                passed=len(passed[name]),
                dropped=counts[name]["dropped"],
                repeated=counts[name]["again"] + counts[name]["back"],
                why=dict(why[name].most_common()),
            )
            for name, own in reached.items()
        ),
        accepted=Share(right=released, of=len(ended)),
        liked=_sum(first),
        open=_right(book, "open"),
        first_open=_sum(early["open"]),
        closed=_right(book, "closed"),
        first_closed=_sum(early["closed"]),
        spent=spent(receipts),
        waiting=book.current,
    )


def answer(book: Book, name: str) -> str:
    """Returns the right letter of an item that was read."""
    product = book.track.product(book.items[name])
    if isinstance(product, Wording):
        return book.track.given[name].answer
    return product.answer


def _sum(known: Mapping[str, bool]) -> Share:
    return Share(right=sum(known.values()), of=len(known))


def _right(book: Book, mode: str) -> Share:
    read = [i for i in book.items.values() if mode in i.made.get("readings", {})]
    right = sum(i.made["readings"][mode]["answer"] == answer(book, i.id) for i in read)
    return Share(right=right, of=len(read))
