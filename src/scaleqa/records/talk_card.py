"""The part of the dataset card about talk, generated from the data."""

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import get_args

from scaleqa.records.schema import SPLITS, Life, TalkKind
from scaleqa.records.talk_readings import TalkJudged

DOMAINS = (
    "one same",
    "one plain",
    "one other",
    "several same",
    "several plain",
    "several other",
)


def talk_section(
    lives: Sequence[Life], funnel: Mapping[str, int], judged: TalkJudged | None
) -> str:
    """Writes the section; empty if nothing is released.

    Args:
        lives: The released lives.
        funnel: How many questions each stage kept.
        judged: The results of the readings.
    """
    if not lives:
        return ""
    return "\n".join(
        [
            "## Talk",
            "",
            "A *life* is a series of everyday conversations over months, up to a year, with questions whose evidence turns are known. In lives of *friends* two people write to each other, and a third person asks; in those of an *assistant* a user talks to a model, and asks later in the first person; *answers* are the same with long answers of the model, of about 200 words, and two thirds of the questions are about these (`scaleqa build --talk friends`, `--talk assistant`, `--talk answers`). Answers are free text, without options. The evidence is one turn, or several in different sessions. The wording of a question is `same`, in the words of the conversation: it shares at least three content words (compared by stem) with its evidence turn, or two with each of several; `plain`, in ordinary words; or `other`: it shares no content word with its evidence. The speakers' names do not count. In lives of long answers every evidence turn has a quote, the words in it that give the answer, and wordings are compared with that.",
            "",
            *_lives(lives),
            "",
            *_questions(lives),
            "",
            "| stage | questions |",
            "|---|---|",
            *(f"| {stage} | {count} |" for stage, count in funnel.items()),
            *_readings(judged),
        ]
    )


def _lives(lives: Sequence[Life]) -> list[str]:
    rows = ["| lives | number | sessions | turns | tokens per life |", "|---|---|---|---|---|"]
    for kind in get_args(TalkKind):
        for split in SPLITS:
            own = [life for life in lives if (life.kind, life.split) == (kind, split)]
            if own:
                sessions = [session for life in own for session in life.sessions]
                turns = sum(len(session) for session in sessions)
                mean = statistics.mean(life.tokens for life in own)
                rows.append(
                    f"| {kind}, {split} | {len(own)} | {len(sessions)} | {turns:,} | {mean:,.0f} |"
                )
    return rows


def _questions(lives: Sequence[Life]) -> list[str]:
    rows = [f"| questions | {' | '.join(DOMAINS)} | all |", "|---" * (len(DOMAINS) + 2) + "|"]
    for kind in get_args(TalkKind):
        for split in SPLITS:
            counts = Counter(
                question.domain
                for life in lives
                if (life.kind, life.split) == (kind, split)
                for question in life.questions
            )
            if counts:
                each = " | ".join(str(counts[domain]) for domain in DOMAINS)
                rows.append(f"| {kind}, {split} | {each} | {counts.total()} |")
    return rows


def _readings(judged: TalkJudged | None) -> list[str]:
    if judged is None:
        return []
    return [
        "",
        f"Each question was read by a language model that had not written it: it saw all sessions of the life and the questions in random order, and named the answer, the smallest set of turns that gives it, and turns that would do as well. A question was left out if its reader found it unclear or did not name all of its evidence. {judged.clear} of {judged.readings} readings found the question clear. Of the {judged.released} readings of released questions {judged.exact} named exactly the evidence, the others further turns as well. The raw readings ship with the records, also of what was left out; `scaleqa data calibration` counts them.",
    ]
