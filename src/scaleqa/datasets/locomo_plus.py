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
# How long after the last session the trigger comes.
AFTER = timedelta(days=7)
# Some cues have a literal \n, or nothing but a space, between their two remarks.
REMARK = re.compile(r"(?:^|\s|\\n)([AB]):\s*")
NUMBERS = "one two three four five six seven eight nine ten eleven twelve".split()
GAP = re.compile(rf"\b(\d{{1,3}}|an?|{'|'.join(NUMBERS)})\s*(week|month|year)s?\b")
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
    share: Annotated[
        int, Field(ge=1, description="Samples of a conversation whose cues share its thread.")
    ] = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LocomoPlus:
    """One flat thread for each sample, or for several of a conversation."""

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
            **({"share": given.share} if given.share > 1 else {}),
        }
        count = min(given.subset or len(samples), len(samples))
        chosen = [place * len(samples) // count for place in range(count)]
        for place in chosen:
            if not samples[place].cue or not samples[place].trigger:
                raise DataError(
                    f"{path} is not LoCoMo-Plus as published: sample {place} has no remark of A or "
                    "B as cue or trigger"
                )
        packages = []
        for at, conversation in enumerate(found):
            own = [place for place in chosen if place % len(found) == at]
            for start in range(0, len(own), given.share):
                some = {place: samples[place] for place in own[start : start + given.share]}
                packages.append(stitch(some, conversation, settings, names=given.names))
        return sorted(packages, key=lambda package: package.name)


def stitch(
    samples: Mapping[int, Sample],
    conversation: Conversation,
    settings: Mapping[str, object],
    *,
    names: bool,
) -> Package:
    """Puts cues into a conversation, each before the first session that is later than it.

    Args:
        samples: Cues and triggers, by their place in the file.
        conversation: The conversation.
        settings: Goes into the package.
        names: Whether roles are the speakers' names.

    Raises:
        DataError: The conversation lacks speakers or dates.
    """
    dates = session_dates(conversation)
    speakers = _speakers(conversation)
    told: list[tuple[datetime, str, Sequence[tuple[str, str]]]] = [
        (date, name, [(turn.speaker, text_of(turn)) for turn in turns])
        for date, (name, turns) in zip(dates, conversation.sessions, strict=True)
    ]
    for place, sample in samples.items():
        said_at = dates[-1] + AFTER - gap(sample.time_gap)
        said = [(speakers[who], text) for who, text in sample.cue]
        told.append((said_at, _cue(place), said))
    role = Roles(names=names)
    stream: list[StreamTurn] = []
    blocks: dict[str, Block] = {}
    # The order is stable: what is told at the same time as a session comes after it.
    for _, name, turns in sorted(told, key=lambda one: one[0]):
        start = len(stream)
        for speaker, text in turns:
            stream.append(StreamTurn(id=len(stream), role=role(speaker), text=text))
        if turns:
            blocks[name] = Block(source=name, turns=tuple(range(start, len(stream))))
    questions = tuple(
        Question(
            id=f"plus:{place + 1}",
            question=sample.trigger,
            evidence=blocks[_cue(place)].turns,
            domain=sample.relation_type,
            grader="judge",
        )
        for place, sample in samples.items()
    )
    cues = {_cue(place) for place in samples}
    return Package(
        name=f"plus-{min(samples) + 1:03}",
        stream=tuple(stream),
        questions=questions,
        truth=tuple(block for name, block in blocks.items() if name in cues),
        noise=tuple(block for name, block in blocks.items() if name not in cues),
        settings={**settings, "conversation": conversation.sample_id},
    )


def _cue(place: int) -> str:
    return f"cue_{place + 1}"


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
