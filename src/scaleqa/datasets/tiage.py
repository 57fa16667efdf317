"""TIAGE: chats between two people, with annotated topic shifts."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from scaleqa.errors import DataError

DEV, TEST = "anno_dev.json", "anno_test.json"
SHIFT = "1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    """A chat.

    Attributes:
        id: The key in the file.
        texts: The texts of the turns, in order.
        shifts: For each gap between two turns, whether the topic shifts there.
    """

    id: str
    texts: tuple[str, ...]
    shifts: tuple[bool, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chats:
    """The chats of a file, and the sha256 of its bytes."""

    chats: tuple[Chat, ...]
    sha256: str


# A chat is a list of (text, label); the first turn's label is -1.
_Published = TypeAdapter(dict[str, list[tuple[str, Literal["-1", "0", "1"]]]])


def load_chats(path: Path) -> Chats:
    """Reads chats in the published format.

    Raises:
        DataError: The file is missing or has another format.
    """
    try:
        content = path.read_bytes()
        published = _Published.validate_json(content)
    except OSError as error:
        raise DataError(
            f"{path} cannot be read ({error.strerror}); expected TIAGE's directory with "
            f"{DEV} and {TEST}"
        ) from None
    except ValidationError as error:
        one = error.errors()[0]
        place = ".".join(str(part) for part in one["loc"]) or "the file"
        raise DataError(
            f"{path} is not TIAGE as published: {place}: {one['msg']}; expected an object of "
            'chats, each a list of ["text", "label"]'
        ) from None
    if not published:
        raise DataError(f"{path} holds no chat")
    short = [name for name, turns in published.items() if len(turns) < 3]
    if short:
        raise DataError(f"{path}: chat {short[0]} has less than three turns: no cut to look for")
    chats = tuple(
        Chat(
            id=name,
            texts=tuple(text for text, _ in turns),
            shifts=tuple(label == SHIFT for _, label in turns[1:]),
        )
        for name, turns in published.items()
    )
    return Chats(chats=chats, sha256=hashlib.sha256(content).hexdigest())
