"""Makes the plan of an audit from its sources.

In every form in which raters see another source they see as many of ours, so that the form of an
item does not tell where it comes from: a dialogue without a question is a chat of real people, or
one of ours without its question.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import cycle

from scaleqa.audit.items import POINTS, Form, Item, Known, Plan, Purpose, SourceFacts
from scaleqa.audit.sampling import deal, lot, stratified
from scaleqa.audit.sources import Candidate, Source, without_options, without_question
from scaleqa.errors import DataError
from scaleqa.records import LETTERS, Record
from scaleqa.records.calibration import Answer
from scaleqa.records.draw import seal_of
from scaleqa.records.readings import Reading

ID = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How much is drawn, and how it is dealt out.

    Attributes:
        items: Our records, with question and options.
        each: Items of every other source.
        gold: Items with a known answer, for all raters.
        attention: Items that show whether a rater reads, for all raters.
        raters: How many raters there are.
        per_item: How many of them rate an item.
        core: How many items all of them rate.
        seed: What everything is drawn with.
    """

    items: int = 300
    each: int = 30
    gold: int = 10
    attention: int = 6
    raters: int = 3
    per_item: int = 3
    core: int = 0
    seed: int = 29


def make_plan(
    ours: Source, others: Sequence[Source], certain: Sequence[str], sampling: Sampling
) -> Plan:
    """Draws the items and deals them out; the same arguments give the same plan.

    Args:
        ours: Our records.
        others: Corpora and other benchmarks.
        certain: Ids of our records whose answers are certain, for gold items.
        sampling: How much of what.

    Raises:
        DataError: There is too little of something, or the numbers contradict each other.
    """
    _check(sampling, others)
    draw = _Draw(ours, sampling.seed)
    gold = draw.take(sampling.gold, "gold items", "--gold", among={*certain})
    audited = [
        _item(one, "choice", "audit", sampling.seed)
        for one in draw.take(sampling.items, "items", "--items")
    ]
    attention = draw.take(sampling.attention, "attention items", "--attention")
    facts = []
    for source in others:
        drawn = _drawn(source.candidates, sampling.each, sampling.seed)
        forms = Counter(_form(one) for one in drawn)
        audited += [_item(one, _form(one), "audit", sampling.seed) for one in drawn]
        for form, count in sorted(forms.items()):
            same = draw.take(count, f"items beside those of {source.name}", "--each")
            audited += [_item(one, form, "audit", sampling.seed) for one in same]
        facts.append(_facts(source, len(drawn)))
    items = [
        *audited,
        *(_item(one, "choice", "gold", sampling.seed) for one in gold),
        *_attention_items(attention, sampling.seed),
    ]
    items.sort(key=lambda item: item.id)
    orders = deal(
        items,
        raters=sampling.raters,
        per_item=sampling.per_item,
        core=sampling.core,
        seed=sampling.seed,
    )
    return Plan(
        seed=sampling.seed,
        per_item=sampling.per_item,
        core=sampling.core,
        sources=(_facts(ours, len(draw.used)), *facts),
        items=tuple(items),
        orders=tuple(map(tuple, orders)),
    )


def certain_ids(records: Sequence[Record], readings: Iterable[Answer | Reading]) -> list[str]:
    """Records that all blind readers of their dialogues answered correctly and did not flag."""
    sealed = {seal_of(record): record for record in records}
    read = [one for one in readings if one.mode != "closed" and one.seal in sealed]
    doubted = {one.seal for one in read if one.flags or one.answer != sealed[one.seal].answer}
    return sorted({sealed[one.seal].id for one in read if one.seal not in doubted})


class _Draw:
    """Draws from our records, none twice."""

    def __init__(self, source: Source, seed: int) -> None:
        self._source = source
        self._seed = seed
        self.used: set[str] = set()

    def take(
        self, count: int, what: str, option: str, among: set[str] | None = None
    ) -> list[Candidate]:
        free = [
            one
            for one in self._source.candidates
            if one.name not in self.used and (among is None or one.origin.ref in among)
        ]
        if len(free) < count:
            kind, known = "", ""
            if among is not None:
                kind = " whose answers are certain"
                known = (
                    ", --gold 0 for none, or name records whose answers are certain with --known"
                )
            raise DataError(
                f"{count} {what} were asked for, and {len(free)} records{kind} are left; ask for "
                f"fewer with {option}{known}"
            )
        drawn = _drawn(free, count, self._seed)
        self.used |= {one.name for one in drawn}
        return drawn


def _check(sampling: Sampling, others: Sequence[Source]) -> None:
    if not 1 <= sampling.per_item <= sampling.raters:
        raise DataError(
            f"{sampling.per_item} raters per item were asked for, of {sampling.raters} raters; "
            f"expected 1 to {sampling.raters}"
        )
    if sampling.items < 1:
        raise DataError("an audit needs items; ask for at least one")
    twice = [name for name, times in Counter(one.name for one in others).items() if times > 1]
    if twice:
        raise DataError(f"the source {twice[0]} is named twice; name it once")


def _drawn(candidates: Sequence[Candidate], count: int, seed: int) -> list[Candidate]:
    return stratified(
        candidates,
        count,
        seed=seed,
        name=lambda one: one.name,
        cell=lambda one: (one.origin.domain, one.origin.split),
        within=lambda one: one.origin.stress[0] if one.origin.stress else "",
    )


def _form(candidate: Candidate) -> Form:
    if candidate.question is None:
        return "chat"
    return "choice" if candidate.options else "open"


def _item(
    candidate: Candidate, form: Form, purpose: Purpose, seed: int, known: Known | None = None
) -> Item:
    shown = candidate
    if form == "chat":
        shown = without_question(candidate)
    elif form == "open":
        shown = without_options(candidate)
    if purpose == "gold" and known is None:
        known = Known.model_validate({"answer": candidate.answer})
    return Item.model_validate(
        {
            "id": lot(seed, "id", form, purpose, candidate.name)[:ID],
            "form": form,
            "purpose": purpose,
            "origin": candidate.origin,
            "dialogue": shown.dialogue,
            "question": shown.question,
            "options": shown.options,
            "answer": shown.answer,
            "known": known,
        }
    )


def _attention_items(candidates: Sequence[Candidate], seed: int) -> list[Item]:
    """Ordinary items whose question says what to answer; texts and letters take turns."""
    texts = (resources.files("scaleqa.audit") / "attention.txt").read_text("utf-8").splitlines()
    items = []
    for candidate, text in zip(candidates, cycle(filter(None, texts)), strict=False):
        number = int(lot(seed, "attention", candidate.name)[:8], 16)
        letter = LETTERS[number % len(LETTERS)]
        natural = POINTS[number // len(LETTERS) % len(POINTS)]
        known = Known.model_validate({"answer": letter, "naturalness": natural})
        asked = Candidate(
            origin=candidate.origin,
            dialogue=candidate.dialogue,
            question=text.format(letter=letter, naturalness=natural),
            options=candidate.options,
            answer=letter,
        )
        items.append(_item(asked, "choice", "attention", seed, known))
    return items


def _facts(source: Source, drawn: int) -> SourceFacts:
    return SourceFacts(
        source=source.name,
        sha256=source.sha256,
        candidates=len(source.candidates),
        drawn=drawn,
        left_out=source.left_out,
    )
