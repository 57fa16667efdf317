"""What is drawn for an item besides its letter, so that items differ from one another."""

import random
from collections.abc import Iterator, Mapping
from typing import get_args

from scaleqa.construct.plan import Domain, Plan
from scaleqa.errors import DataError
from scaleqa.records.schema import Kind, Letter, Record

DECISIONS = (
    "which of several things to pick",
    "in which order to do things",
    "how much or how many",
    "on which day or by when",
    "who is to do or get it",
    "whether and how to go on",
    "where to put or hold it",
    "how to do it",
)
FORMS = (
    "a remark in passing",
    "a house rule or habit",
    "a line of a list, table or schedule",
    "an excerpt of a memo, letter or notice",
    "a change of plan",
    "an order of precedence",
    "a threshold with an exception",
    "something the model reads back or works out",
)
VOICES = (
    "terse, almost telegraphic",
    "chatty, with asides",
    "careful and polite",
    "in a hurry, with fragments",
    "plain and matter-of-fact",
    "as dictated by voice",
)
KINDS: tuple[Kind, ...] = (
    "preference", "person", "date", "place", "health", "work", "plan", "setup", "change",
    "possession",
)  # fmt: skip
INITIALS = "ABCDEFGHIJKLMNOPRSTUVWYZ"
SHOWN_SEEDS = 3


def lots(plan: Plan, item_id: str, domain: Domain) -> Mapping[str, str]:
    """Draws what an item is to be like; it depends on the seed and the id alone."""
    rng = random.Random(f"{plan.seed}:{item_id}")
    kinds, shares = zip(*sorted(plan.stress.items()), strict=True)
    number = int(item_id.rpartition("-")[2])
    seeds = rng.sample(domain.seeds, min(SHOWN_SEEDS, len(domain.seeds)))
    return {
        "stress": rng.choices(kinds, shares)[0],
        "decision": rng.choice(DECISIONS),
        "form": rng.choice(FORMS),
        "voice": rng.choice(VOICES),
        "initials": " or ".join(rng.sample(INITIALS, 2)),
        "kind": KINDS[number % len(KINDS)],
        "inference": "yes" if rng.random() < 0.5 else "no",
        "named": "yes" if rng.random() < 0.5 else "no",
        "topic": domain.topics[(number - 1) % len(domain.topics)] if domain.topics else "",
        "seeds": "\n".join(f"- {seed}" for seed in seeds),
    }


def other_letter(plan: Plan, record: Record) -> Letter:
    """Draws the letter that is to be right after a sequel, from the other three."""
    others: list[Letter] = [one for one in get_args(Letter) if one != record.answer]
    return random.Random(f"{plan.seed}:sequel:{record.id}").choice(others)


def ids(plan: Plan, domain: Domain, given: Mapping[str, Record]) -> Iterator[str]:
    """Yields the ids that items of a domain may have, in the order in which they are begun.

    Raises:
        DataError: There are fewer given records than wanted.
    """
    if plan.track in ("records", "asides"):
        yield from (f"{plan.split}:{domain.name}-{n:03d}" for n in range(1, domain.most + 1))
        return
    own = sorted(record.id for record in given.values() if record.domain == domain.name)
    if len(own) < domain.count:
        raise DataError(
            f"{domain.count} {plan.track} are wanted of {domain.name}, of which there are "
            f"{len(own)} records; lower its count, or name other records"
        )
    yield from random.Random(f"{plan.seed}:{domain.name}").sample(own, min(domain.most, len(own)))
