"""Small audits, and raters who are simulated: for tests alone, never for figures."""

import random
from functools import cache
from pathlib import Path

from scaleqa.audit.files import write_plan
from scaleqa.audit.items import CUES, SCALES, Item, Origin, Plan, ShownTurn
from scaleqa.audit.judgements import Judgement, Values
from scaleqa.audit.planning import Sampling, certain_ids, make_plan
from scaleqa.audit.sources import Candidate, Source, from_records
from scaleqa.records import LETTERS, shipped
from scaleqa.records.calibration import read_answers
from scaleqa.records.load import data_dir
from tests.support.records import RECORDS

SMALL = Sampling(items=12, each=4, gold=2, attention=2, raters=3, per_item=3, seed=5)


def chats(name: str = "corpus", count: int = 8) -> Source:
    """A corpus of short chats."""
    return Source(
        name=name,
        sha256="0" * 64,
        candidates=tuple(
            Candidate(
                origin=Origin(source=name, ref=f"{name}-{n:03d}", domain="chat"),
                dialogue=tuple(
                    ShownTurn(role=("user", "model")[k % 2], text=f"words {n} {k} of somebody")
                    for k in range(4)
                ),
            )
            for n in range(count)
        ),
    )


def benchmark(name: str = "others", count: int = 8) -> Source:
    """Questions without options."""
    return Source(
        name=name,
        sha256="1" * 64,
        candidates=tuple(
            Candidate(origin=one.origin, dialogue=one.dialogue, question=f"What of {n}?")
            for n, one in enumerate(chats(name, count).candidates)
        ),
    )


@cache
def small_plan(sampling: Sampling = SMALL) -> Plan:
    records = shipped()
    certain = certain_ids(records, read_answers(data_dir() / "calibration.jsonl"))
    return make_plan(from_records(records), [chats(), benchmark()], certain, sampling)


def tiny_plan() -> Plan:
    """One item for one rater."""
    ours = from_records(RECORDS[:1])
    return make_plan(ours, [], [], Sampling(items=1, gold=0, attention=0, raters=1, per_item=1))


def small_audit(directory: Path, sampling: Sampling = SMALL) -> Plan:
    plan = small_plan(sampling)
    write_plan(plan, directory)
    return plan


def careful(item: Item) -> Values:
    """What somebody says who reads everything and agrees with the data set."""
    letter = (item.known.answer if item.known else None) or item.answer
    points = {"naturalness": 4, "answerability": 5, "ambiguity": 1, "plausibility": 4}
    if item.known and item.known.naturalness:
        points["naturalness"] = item.known.naturalness
    cues = tuple(cue for cue in CUES if cue in item.origin.stress)
    primary = item.origin.stress[0] if item.origin.stress else "none"
    said = {"scales": points, "answer": letter, "cues": cues, "primary": primary}
    return Values.model_validate(said).only(item.shown)


def simulated(plan: Plan, *, seed: int = 1, wrong: float = 0.1) -> list[Judgement]:
    """Raters who are careful most of the time."""
    rng = random.Random(seed)
    out = []
    for rater, order in enumerate(plan.orders, 1):
        for name in sorted(order):
            item = plan.by_id[name]
            said = careful(item)
            scales = {
                scale: min(5, max(1, said.scales[scale] + rng.choice((-1, 0, 0, 0, 1))))
                for scale in SCALES
                if scale in said.scales
            }
            answer: str | None = said.answer
            if answer and not item.known and rng.random() < wrong:
                answer = rng.choice(LETTERS)
            if item.purpose == "attention":
                scales = dict(said.scales)
            values = said.model_copy(update={"scales": scales, "answer": answer})
            seconds = float(rng.randint(30, 90))
            out.append(Judgement(rater=rater, item=item, values=values, seconds=seconds))
    return out
