"""REALTALK as flat threads: real chats of two people over three weeks, with questions and evidence.

The files are `data/Chat_*.json` of `danny911kr/REALTALK`, which continues LoCoMo. A system sees the
messages of all sessions in order, but no session boundaries or dates.
"""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from scaleqa.datasets.locomo import (
    SESSION,
    Compiled,
    Conversation,
    PublishedQuestion,
    PublishedTurn,
    compile_conversation,
)
from scaleqa.datasets.protocol import DataSetDeclaration
from scaleqa.datasets.published import read_published
from scaleqa.errors import DataError
from scaleqa.packages import Package

NAME = "realtalk"
FILE = re.compile(r"(Chat_(\d+)\w*)\.json(?:\.gz)?")
# What a message without text is: an image, some with a caption.
NO_TEXT = "[shares a photo]"


class Message(BaseModel):
    """The fields of a published message that are used."""

    model_config = ConfigDict(frozen=True)

    speaker: str = Field(min_length=1)
    dia_id: str
    clean_text: str
    blip_caption: str | None = None

    def turn(self) -> PublishedTurn:
        """Returns the message in LoCoMo's form."""
        text = self.clean_text
        return PublishedTurn(
            speaker=self.speaker.strip(),
            dia_id=self.dia_id,
            text=text if text.strip() or self.blip_caption else NO_TEXT,
            blip_caption=self.blip_caption,
        )


class Chat(BaseModel):
    """A published chat: sessions by name, and questions; other fields are not used."""

    model_config = ConfigDict(frozen=True, extra="allow")

    qa: tuple[PublishedQuestion, ...]

    def conversation(self, name: str) -> Conversation:
        """Returns the chat in LoCoMo's form."""
        messages = TypeAdapter(list[Message])
        sessions = {
            key: [message.turn() for message in messages.validate_python(value)]
            for key, value in (self.model_extra or {}).items()
            if SESSION.fullmatch(key)
        }
        return Conversation.model_validate(
            {"sample_id": name, "conversation": sessions, "qa": self.qa}
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RealtalkOptions:
    """Which files are read."""

    directory: Annotated[str, Field(description="The directory of the published Chat_*.json.")]
    names: Annotated[
        bool, Field(description="Roles are the speakers' names instead of user and model.")
    ] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Realtalk:
    """One flat thread for each chat."""

    options: RealtalkOptions
    name: str = NAME

    def threads(self) -> list[Package]:
        """Compiles the threads.

        Raises:
            DataError: The files cannot be used.
        """
        directory = Path(self.options.directory)
        found = {path: FILE.fullmatch(path.name) for path in sorted(directory.glob("Chat_*"))}
        chats = sorted((int(name[2]), path, name[1]) for path, name in found.items() if name)
        if not chats:
            raise DataError(f"{directory} holds no chat of REALTALK; expected files Chat_*.json")
        compiled: list[Compiled] = []
        digests: list[str] = []
        for _, path, name in chats:
            chat, sha256 = read_published(
                path, TypeAdapter(Chat), of="REALTALK", files="Chat_*.json"
            )
            try:
                conversation = chat.conversation(name)
            except ValueError as error:
                raise DataError(f"{path} is not REALTALK as published: {error}") from None
            compiled.append(compile_conversation(conversation, names=self.options.names))
            digests.append(sha256)
        settings = {
            "dataset": NAME,
            "records_sha256": hashlib.sha256("".join(digests).encode()).hexdigest(),
            "names": self.options.names,
            "left_out": {
                "abstentions": 0,
                "unmarked": sum(one.unmarked for one in compiled),
                "evidence": [name for one in compiled for name in one.dropped],
            },
        }
        return [one.package(settings) for one in compiled if one.questions]


DATASET = DataSetDeclaration(
    name=NAME,
    summary="REALTALK as published, one flat thread per chat of two people",
    options=RealtalkOptions,
    make=lambda options: Realtalk(options=options),
    example="realtalk:directory=REALTALK/data",
)
