"""Checks of lives: evidence must be unambiguous, and the wordings what they are called."""

from collections import Counter
from collections.abc import Iterator, Sequence

from scaleqa.records.schema import SPLITS, Life, TalkQuestion
from scaleqa.records.stems import content, stem

# Content words that a question in the same words shares with its evidence turn, or with each.
LEAST_SHARED, LEAST_SHARED_EACH = 3, 2


def problems(lives: Sequence[Life]) -> Iterator[tuple[str, str]]:
    """Checks lives and their questions.

    Yields:
        Pairs of the id of a life or question and a problem with it.
    """
    ids = Counter(life.id for life in lives)
    ids.update(question.id for life in lives for question in life.questions)
    for name, count in ids.items():
        if count > 1:
            yield name, f"occurs {count} times"
    for life in lives:
        if life.split not in SPLITS:
            yield life.id, f"unknown split {life.split!r}, expected one of {', '.join(SPLITS)}"
        said = Counter(turn.text for some in life.sessions for turn in some)
        for question in life.questions:
            for problem in _of_question(question, life, said):
                yield question.id, problem


def _of_question(question: TalkQuestion, life: Life, said: Counter[str]) -> Iterator[str]:
    sessions = [session for session, _ in question.evidence]
    if len({*sessions}) < len(sessions):
        yield f"several evidence turns {question.evidence} are in one session"
    turns = life.evidence_turns(question)
    if any(said[text] > 1 for text in turns):
        yield "an evidence turn occurs twice in the life; its position is ambiguous"
    names = {stem(part) for name in life.speakers for part in name.split()}
    least = LEAST_SHARED if len(turns) == 1 else LEAST_SHARED_EACH
    what = "quote" if question.quotes else "evidence turn"
    for text in question.quotes or turns:
        words = content(text)
        shared = sorted(words[one] for one in {*words} & {*content(question.question)} - names)
        if question.wording == "other" and shared:
            yield f"question and {what} share {', '.join(shared)}"
        if question.wording == "same" and len(shared) < least:
            yield f"question and {what} share {len(shared)} content words, expected {least}"
