"""Habits of several sets of dialogues beside each other, as a table."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from scaleqa.errors import DataError
from scaleqa.records.schema import Record
from scaleqa.records.style import Asking, Share, Style, Talk, asking, style, talk_of

HABIT = "habit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Set:
    """Dialogues to be compared.

    Attributes:
        name: What they are called.
        talks: The dialogues.
        records: The records that they belong to, if they do.
    """

    name: str
    talks: Sequence[Talk]
    records: Sequence[Record] = field(default=())

    @classmethod
    def of(cls, name: str, records: Sequence[Record]) -> "Set":
        """Returns the set of some records."""
        return cls(name=name, talks=[talk_of(record) for record in records], records=records)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was found in a set."""

    style: Style
    asking: Asking | None


def compare(sets: Sequence[Set]) -> dict[str, Found]:
    """Counts habits in samples that are as large as the smallest set.

    Raises:
        DataError: A set is empty.
    """
    for one in sets:
        if not one.talks:
            raise DataError(f"{one.name} has no dialogues; give a file that has some")
    among = min(len(one.talks) for one in sets)
    return {
        one.name: Found(
            style=style(one.talks, among),
            asking=asking(one.records, among) if one.records else None,
        )
        for one in sets
    }


def table(found: Mapping[str, Found]) -> list[dict[str, str]]:
    """Writes one row a habit, with a value for each set where it has one."""
    return [
        {HABIT: label, **{name: write(one) for name, one in found.items()}}
        for label, write in LINES
    ]


def as_data(found: Mapping[str, Found]) -> dict[str, Any]:
    """Returns everything that was counted, for programs."""
    return {name: asdict(one) for name, one in found.items()}


def _written(value: float | Share) -> str:
    if isinstance(value, Share):
        low, high = value.interval
        return f"{value.value:.3f} ({low:.3f}–{high:.3f})"
    return f"{value:.3f}"


def _styled(name: str) -> Callable[[Found], str]:
    return lambda found: _written(getattr(found.style, name))


def _asked(name: str) -> Callable[[Found], str]:
    return lambda found: _written(getattr(found.asking, name)) if found.asking else "–"


LINES: tuple[tuple[str, Callable[[Found], str]], ...] = (
    ("dialogues", lambda found: f"{found.style.dialogues:,}"),
    ("words of a turn: 5 %, half, 95 %", lambda f: " / ".join(map(str, f.style.turn_words))),
    ("the model's share of the words", _styled("model_words")),
    ("the model's turns that ask", _styled("model_asks")),
    ("first turns that open like another's (sampled)", _styled("opening_repeated")),
    ("the model's turns that open like another's (sampled)", _styled("reply_repeated")),
    ("dialogues with code, a table or a list", _styled("set_apart")),
    ("different words in 10,000", _styled("distinct_words")),
    ("different runs of four in 10,000", _styled("distinct_runs")),
    ("questions that open like another's (sampled)", _asked("question_repeated")),
    ("questions with a name or code", _asked("named")),
    ("questions with a word that few dialogues have (sampled)", _asked("anchored")),
    ("evidence quotes or labels a rule", _asked("notice")),
    ("evidence in code, a table or a list", _asked("set_apart")),
    ("evidence in a turn of the model", _asked("by_model")),
)
