"""The parts of the dataset card about second wordings, asides and talk, generated from the data."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from scaleqa.records.readings import FATAL, Judged
from scaleqa.records.schema import SPLITS, Aside, Life, Wording
from scaleqa.records.talk_card import talk_section
from scaleqa.records.talk_readings import TalkJudged
from scaleqa.records.third_card import ThirdFacts

MODES = {
    "shelf": "picked the dialogue among 20, then answered",
    "open": "saw the dialogue",
    "closed": "saw question and options only",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackFacts:
    """What the card says about what is beside the records of the first two splits.

    Attributes:
        wordings: The released second wordings.
        asides: The released asides.
        talk: The released lives.
        funnels: How many each stage kept, for `wordings`, `asides` and `talk`.
        judged: The results of readings of second wordings and asides, by kind of question.
        judged_talk: The results of readings of questions about lives.
        third: The third split.
    """

    wordings: Sequence[Wording] = ()
    asides: Sequence[Aside] = ()
    talk: Sequence[Life] = ()
    funnels: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    judged: Mapping[str, Sequence[Judged]] = field(default_factory=dict)
    judged_talk: TalkJudged | None = None
    third: ThirdFacts = field(default_factory=ThirdFacts)


def track_sections(facts: TrackFacts) -> list[str]:
    """Writes the sections of what is released."""
    talk = talk_section(facts.talk, facts.funnels.get("talk", {}), facts.judged_talk)
    return [part for part in (_wordings_and_asides(facts), talk) if part]


def stages(funnels: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Returns the stages of several funnels in their order; all end with `released`."""
    named = dict.fromkeys(stage for funnel in funnels.values() for stage in funnel)
    named.pop("released", None)
    return [*named, "released"]


def _wordings_and_asides(facts: TrackFacts) -> str:
    if not facts.wordings and not facts.asides:
        return ""
    return "\n".join(
        [
            "## Second wordings and asides",
            "",
            *_counts(facts),
            "",
            *_funnels(facts.funnels),
            "",
            *_readings(facts.judged),
        ]
    )


def _counts(facts: TrackFacts) -> list[str]:
    by_split = Counter(one.id.partition(":")[0] for one in facts.wordings)
    aside_splits = Counter(aside.split for aside in facts.asides)
    kinds = Counter(aside.kind for aside in facts.asides)
    inferred = sum(aside.inference for aside in facts.asides)
    rows = [
        ("second wordings", by_split, len(facts.wordings)),
        ("asides", aside_splits, len(facts.asides)),
    ]
    return [
        "A *second wording* asks a record's question in other words, without the names, numbers and rare words of its dialogue; options and answer are the record's (`scaleqa build --wording other`). An *aside* is a fact that the user mentions in passing, in a dialogue about something else, with a later question that shares no content word with the turn that holds it (`scaleqa build --asides`). Its options were written first, its letter was drawn as for records, and the dialogue was written last.",
        "",
        f"| | {' | '.join(SPLITS)} | all |",
        "|---|---|---|---|",
        *(
            f"| {name} | {' | '.join(str(counts[split]) for split in SPLITS)} | {total} |"
            for name, counts, total in rows
        ),
        "",
        f"{inferred} of the {len(facts.asides)} asides need an everyday inference; the others are asked for in other words. Kinds: {_named(dict(sorted(kinds.items())))}.",
    ]


def _funnels(funnels: Mapping[str, Mapping[str, int]]) -> list[str]:
    names = {"wordings": "second wordings", "asides": "asides"}
    own = {name: funnels.get(name, {}) for name in names}
    return [
        f"| stage | {' | '.join(names.values())} |",
        "|---|---|---|",
        *(
            f"| {stage} | {' | '.join(str(funnel.get(stage, 0)) for funnel in own.values())} |"
            for stage in stages(own)
        ),
    ]


def _readings(judged: Mapping[str, Sequence[Judged]]) -> list[str]:
    lines = [
        f"Readers were language models that had not written the questions and did not see the answer key. A question was left out if a reader who saw its dialogue picked another one, answered otherwise, or flagged it as {_either(sorted(FATAL))}. Closed-book readings decide nothing. All raw readings ship with the records, also of what was left out; `scaleqa data calibration` grades them.",
        "",
        "| read | reader | readings | dialogue picked | correct | flags |",
        "|---|---|---|---|---|---|",
    ]
    for name, modes in judged.items():
        for one in modes:
            picked = "–" if one.picked is None else str(one.picked)
            flags = _named(one.flags) or "none"
            lines.append(
                f"| {name} | {MODES[one.mode]} | {one.readings} | {picked} | {one.right} | {flags} |"
            )
    return lines


def _either(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _named(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())
