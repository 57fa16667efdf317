"""The thread and the requests of the conformance suite.

The thread is long enough for a tree of summaries, an evicted queue and closed episodes.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NoReturn

from scaleqa.packages import StreamTurn
from scaleqa.systems import Asked, Exchange

TURNS = 400
BLOCK = 8
TOPICS = (
    ("gpu", "project", "team"),
    ("bread", "oven", "baker"),
    ("train", "ticket", "platform"),
    ("budget", "letter", "invoice"),
    ("garden", "hedge", "neighbour"),
)
SAYINGS = (
    "Which rule holds for the {0}?",
    "The rule says only one {0} for a new {1}.",
    "I prefer the old {1}, as the {2} knows.",
    "Then the {2} takes the {0} to the {1}.",
    "The {1} was late again!",
    "Thanks, I never asked the {2} before.",
    "The {0} and the {1} need a budget.",
)


def thread(texts: Sequence[str], start: int = 0) -> list[StreamTurn]:
    """Makes turns from texts, alternating between user and model."""
    return [
        StreamTurn(id=start + n, role=("user", "model")[n % 2], text=text)
        for n, text in enumerate(texts)
    ]


def exchange(number: int) -> Exchange:
    """Makes an exchange about a topic that is not in the thread."""
    first, second = thread(
        [
            f"Which stripes has the zebra of Nakuru? ({number})",
            "ANSWER: A. RATIONALE: each zebra of Nakuru has brown stripes, and the zebra keeps its "
            f"stripes in Nakuru. ({number + 1})",
        ],
        number,
    )
    return Exchange(turns=(first, second))


def ask(question: str, name: str = "q1") -> Asked:
    """Makes a request with four options."""
    return Asked(id=name, question=question, options=dict.fromkeys("ABCD", "x"))


def _saying(number: int) -> str:
    """Returns the text of a turn; topics come in blocks, and the number makes it unique."""
    topic = TOPICS[number // BLOCK % len(TOPICS)]
    return f"{SAYINGS[number % len(SAYINGS)].format(*topic)} ({number})"


THREAD = thread([_saying(number) for number in range(TURNS)])
ASKED = ask("Which rule holds for the gpu?")
REQUESTS = (ASKED, ask("Who takes the ticket to the platform?", "q2"), ask("yes", "q3"))
TRUTH = {"q1": (3, 5), "q2": (16, 19), "q3": (7,), "another": (3, 5)}
DIALOGUES = tuple(tuple(range(start, start + BLOCK)) for start in range(0, TURNS, BLOCK))


class HiddenTruth(Mapping[str, tuple[int, ...]]):
    """Evidence that raises an error when it is accessed."""

    def __getitem__(self, key: str) -> NoReturn:
        raise AssertionError(f"looked up the evidence of {key}")

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("went through the evidence")

    def __len__(self) -> int:
        raise AssertionError("counted the evidence")


class HiddenDialogues(tuple[tuple[int, ...], ...]):
    """Boundaries that raise an error when they are accessed."""

    __slots__ = ()

    def __getitem__(self, key: object) -> NoReturn:
        raise AssertionError("looked up a dialogue")

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        raise AssertionError("went through the dialogues")

    def __len__(self) -> int:
        raise AssertionError("counted the dialogues")
