"""LoCoMo-Plus as flat threads: a cue said once in a LoCoMo conversation, and a later trigger.

The files are `data/locomo_plus.json` and `data/locomo10.json` of `xjtuleeyf/Locomo-Plus`. A cue is
a remark of one speaker and a reply; a trigger is a later remark that the cue bears on without
sharing its words. As in the authors' evaluation, the cue of sample n becomes a session of its own
in conversation n mod 10, as long before the trigger as the sample says, and the trigger comes a
week after the last session. It is the question here; there is no right answer, only the cue that a
reply should take into account.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from scaleqa.datasets.locomo import Conversation, Roles, load_conversations, text_of
from scaleqa.datasets.protocol import DataSetDeclaration
from scaleqa.datasets.published import read_published
from scaleqa.errors import DataError
from scaleqa.packages import Block, Package, Question, StreamTurn

NAME = "locomo_plus"
CUE = "cue"
# How long after the last session the trigger comes.
AFTER = timedelta(days=7)
# Some cues have a literal \n, or nothing but a space, between their two remarks.
REMARK = re.compile(r"(?:^|\s|\\n)([AB]):\s*")
NUMBERS = "one two three four five six seven eight nine ten eleven twelve".split()
GAP = re.compile(rf"\b(\d+|an?|{'|'.join(NUMBERS)})\s*(week|month|year)s?\b")
DAYS = {"week": 7, "month": 30, "year": 365}


class Sample(BaseModel):
    """The fields of a published sample that are used."""

    model_config = ConfigDict(frozen=True)

    relation_type: str = Field(min_length=1)
    cue_dialogue: str
    trigger_query: str
    time_gap: str

    @property
    def cue(self) -> list[tuple[str, str]]:
        """Who says what in the cue; speakers are A and B."""
        return remarks(self.cue_dialogue)

    @property
    def trigger(self) -> str:
        """What is said later."""
        return " ".join(text for _, text in remarks(self.trigger_query))


def remarks(dialogue: str) -> list[tuple[str, str]]:
    r"""Parts a dialogue such as `A: …\nB: …` into speakers and texts."""
    _, *parts = REMARK.split(dialogue)
    return [(name, text.strip()) for name, text in zip(parts[::2], parts[1::2], strict=True)]


def gap(said: str) -> timedelta:
    """Reads a gap as the authors do: "about six weeks later" is 42 days, "several months" none."""
    found = GAP.search(said.lower())
    if not found:
        return timedelta(0)
    number, unit = found.groups()
    many = (
        int(number) if number.isdigit() else NUMBERS.index(number) + 1 if number in NUMBERS else 1
    )
    return timedelta(days=many * DAYS[unit])


@dataclass(frozen=True, slots=True, kw_only=True)
class LocomoPlusOptions:
    """Which files are read."""

    file: Annotated[str, Field(description="The published locomo_plus.json, plain or .gz.")]
    conversations: Annotated[str, Field(description="The published locomo10.json, plain or .gz.")]
    names: Annotated[
        bool, Field(description="Roles are the speakers' names instead of user and model.")
    ] = False
    subset: Annotated[
        int | None, Field(ge=1, description="Number of samples, evenly from the file.")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LocomoPlus:
    """One flat thread for each sample: its conversation with its cue."""

    options: LocomoPlusOptions
    name: str = NAME

    def threads(self) -> list[Package]:
        """Compiles the threads.

        Raises:
            DataError: A file cannot be used.
        """
        given = self.options
        path = Path(given.file)
        samples, sha256 = read_published(
            path, TypeAdapter(tuple[Sample, ...]), of="LoCoMo-Plus", files="locomo_plus.json"
        )
        if not samples:
            raise DataError(f"{path} is not LoCoMo-Plus as published: it holds no sample")
        found, below = load_conversations(Path(given.conversations))
        settings = {
            "dataset": NAME,
            "records_sha256": sha256,
            "conversations_sha256": below,
            **({"names": True} if given.names else {}),
        }
        count = min(given.subset or len(samples), len(samples))
        chosen = [place * len(samples) // count for place in range(count)]
        packages = []
        for place in chosen:
            sample = samples[place]
            if not sample.cue or not sample.trigger:
                raise DataError(
                    f"{path} is not LoCoMo-Plus as published: sample {place} has no remark of A or "
                    "B as cue or trigger"
                )
            conversation = found[place % len(found)]
            packages.append(stitch(sample, place, conversation, settings, names=given.names))
        return packages


def stitch(
    sample: Sample,
    place: int,
    conversation: Conversation,
    settings: Mapping[str, object],
    *,
    names: bool,
) -> Package:
    """Puts a cue into a conversation, before the first session that is later than it.

    Args:
        sample: The cue and the trigger.
        place: The place of the sample in its file.
        conversation: The conversation.
        settings: Goes into the package.
        names: Whether roles are the speakers' names.

    Raises:
        DataError: The conversation lacks speakers or dates.
    """
    dates = session_dates(conversation)
    said_at = dates[-1] + AFTER - gap(sample.time_gap)
    cue_place = sum(date <= said_at for date in dates)
    speakers = _speakers(conversation)
    sessions: list[tuple[str, Sequence[tuple[str, str]]]] = [
        (name, [(turn.speaker, text_of(turn)) for turn in turns])
        for name, turns in conversation.sessions
    ]
    sessions.insert(cue_place, (CUE, [(speakers[who], text) for who, text in sample.cue]))
    role = Roles(names=names)
    stream: list[StreamTurn] = []
    blocks = []
    for name, turns in sessions:
        start = len(stream)
        for speaker, text in turns:
            stream.append(StreamTurn(id=len(stream), role=role(speaker), text=text))
        blocks.append(Block(source=name, turns=tuple(range(start, len(stream)))))
    (own,) = (block for block in blocks if block.source == CUE)
    asked = Question(
        id=f"plus:{place + 1}",
        question=sample.trigger,
        evidence=own.turns,
        domain=sample.relation_type,
        grader="judge",
    )
    return Package(
        name=f"plus-{place + 1:03}",
        stream=tuple(stream),
        questions=(asked,),
        truth=(own,),
        noise=tuple(block for block in blocks if block is not own and block.turns),
        settings={**settings, "conversation": conversation.sample_id},
    )


def session_dates(conversation: Conversation) -> list[datetime]:
    """Returns the times of the sessions, in their order.

    Raises:
        DataError: A session has no date, or one that cannot be read.
    """
    dates = []
    for name, _ in conversation.sessions:
        date = conversation.conversation.get(f"{name}_date_time")
        try:
            dates.append(datetime.strptime(str(date), "%I:%M %p on %d %B, %Y"))  # noqa: DTZ007
        except ValueError:
            raise DataError(
                f"{name} of {conversation.sample_id} has the date {date!r:.60}, expected one such "
                "as '1:56 pm on 8 May, 2023'"
            ) from None
    if not dates:
        raise DataError(f"{conversation.sample_id} has no sessions to put a cue into")
    return dates


def _speakers(conversation: Conversation) -> dict[str, str]:
    named = {who: conversation.conversation.get(f"speaker_{who.lower()}") for who in "AB"}
    found = {who: name for who, name in named.items() if isinstance(name, str) and name}
    if len(found) < len(named):
        raise DataError(f"{conversation.sample_id} does not name speaker_a and speaker_b")
    return found


DATASET = DataSetDeclaration(
    name=NAME,
    summary="LoCoMo-Plus as published, one flat thread per cue and trigger",
    options=LocomoPlusOptions,
    make=lambda options: LocomoPlus(options=options),
    example="locomo_plus:file=locomo_plus.json,conversations=locomo10.json",
)
