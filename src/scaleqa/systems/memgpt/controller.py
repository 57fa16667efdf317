"""The controller without a model: fixed rules that make the same calls.

Under memory pressure it keeps what a careful reader would note down: runs of messages with numbers,
dates, names, rules or wishes go into archival storage verbatim, and short statements of the user
about themselves into core memory. For a question it searches both kinds of storage with the
question, and turns the page while results score at least half as high as the best.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Protocol

from scaleqa.packages import StreamTurn
from scaleqa.systems.memgpt.functions import HEARTBEAT, SEARCHES
from scaleqa.systems.memgpt.memory import Memory, line, words
from scaleqa.systems.memgpt.session import Session
from scaleqa.systems.summarise import SENTENCE

STEPS = 6  # per event; also the limit for a model
PASSAGE_WORDS = 100
GAP = 1  # other messages allowed between two of a passage
WORTH = 0.5  # share of the best score; a page that ends below it is the last
CORE_WORDS = 16
# A digit, a name inside a sentence, or a word for a number, time, rule or wish.
DURABLE = re.compile(
    r"\d|(?<=[a-z,;:] )[A-Z][a-z]+"
    r"|\b(?i:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|half"
    r"|first|second|third|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|today|tomorrow|tonight|noon"
    r"|midnight|must|never|always|only|unless|except|until|till|rules?|policy|allowed|not|no"
    r"|have to|has to|needs? to|instead|longer|whoever|whatever|every|each|nobody|everybody|before"
    r"|after|if|when|whenever|prefers?|favou?rite|wants?|likes?|hates?|allergic)\b"
)
PERSONAL = re.compile(
    r"\b(?:my name is|call me|i(?:'m| am) (?:allergic|vegetarian|vegan|an? (?!bit|little)\w+)"
    r"|i prefer|i always|i never|i hate|i love|i live in|i work (?:as|at|for|in)|my favou?rite)\b",
    re.IGNORECASE,
)


class Controller(Protocol):
    """Decides what to keep and what to look up, by calling functions."""

    def pressure(self, memory: Memory, session: Session) -> None:
        """Saves what matters from the queue before it is evicted."""
        ...

    def question(self, memory: Memory, session: Session, question: str) -> None:
        """Brings what is relevant to a question into the context."""
        ...


class RuleController:
    """Decides by cues in the text."""

    def pressure(self, memory: Memory, session: Session) -> None:
        """Archives passages and notes what the user says about themselves."""
        fresh = memory.unseen()
        for run in notes(fresh):
            content = "\n".join(line(turn) for turn in run)
            session.call("archival_memory_insert", {"content": content})
        for statement in personal(fresh):
            self._note(memory, session, statement)

    def question(self, memory: Memory, session: Session, question: str) -> None:
        """Searches archival, then recall storage, page by page."""
        first: dict[str, float] = {}
        going = list(SEARCHES)
        for step in range(STEPS):
            search, page = SEARCHES[step % 2], step // 2
            if search not in going:
                continue
            arguments = {"query": question, "page": page, HEARTBEAT: True}
            scores = session.call(search, arguments).scores
            best = first.setdefault(search, scores[0] if scores else 0.0)
            if not scores or scores[-1] < WORTH * best:
                going.remove(search)

    def _note(self, memory: Memory, session: Session, statement: str) -> None:
        """Appends to core memory; the oldest lines are removed to make room."""
        block = {"name": "human"}
        while session.call("core_memory_append", {**block, "content": statement}).failed:
            oldest = memory.core["human"].partition("\n")[0]
            if not oldest:
                return
            session.call("core_memory_replace", {**block, "old_content": oldest, "new_content": ""})


def notes(turns: Sequence[StreamTurn]) -> Iterator[list[StreamTurn]]:
    """Finds the runs of messages worth archiving.

    A run starts and ends with a message that states something durable, has at most one other
    message between two of these, and is not longer than a passage may be. A message that exceeds
    this length is a run of its own.
    """
    run: list[StreamTurn] = []
    gap: list[StreamTurn] = []
    for turn in turns:
        if not durable(turn.text):
            gap.append(turn)
            continue
        longer = sum(words(line(one)) for one in (*run, *gap, turn)) > PASSAGE_WORDS
        if run and (longer or len(gap) > GAP):
            yield run
            run = []
        run = [*run, *gap, turn] if run else [turn]
        gap = []
    if run:
        yield run


def durable(text: str) -> bool:
    """Returns whether a message states something worth keeping; questions do not."""
    stated = " ".join(s for s in SENTENCE.split(text) if not s.rstrip().endswith("?"))
    return DURABLE.search(stated) is not None


def personal(turns: Sequence[StreamTurn]) -> Iterator[str]:
    """Finds the short statements of the user about themselves."""
    for turn in turns:
        for sentence in SENTENCE.split(turn.text) if turn.role == "user" else ():
            if PERSONAL.search(sentence) and words(sentence) <= CORE_WORDS:
                yield sentence.strip()
