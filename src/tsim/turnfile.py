"""Reads turns from JSON lines."""

import json
from collections.abc import Iterable

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from tsim.errors import InputError
from tsim.thread import check_turn
from tsim.types import NewTurn


class TurnLine(BaseModel):
    """One line: `role`, `text` (or `content`), and optionally `at`."""

    model_config = ConfigDict(extra="ignore", strict=True)

    role: str
    text: str = Field(validation_alias=AliasChoices("text", "content"))
    at: float | None = None


def read_turns(lines: Iterable[bytes], source: str) -> list[NewTurn]:
    """Reads turns from JSON lines, skipping blank lines.

    Raises:
        InputError: A line is not a valid turn; the message contains its number.
    """
    turns = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                turns.append(_turn(line))
            except InputError as error:
                raise InputError(f"{source}, line {number}: {error}") from error
    return turns


def _turn(line: bytes) -> NewTurn:
    try:
        value = json.loads(line.decode("utf-8"))
        parsed = TurnLine.model_validate(value)
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 (byte {error.start} of the line)") from error
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON ({error.msg} at character {error.pos})") from error
    except (ValueError, RecursionError) as error:
        if not isinstance(error, ValidationError):
            raise InputError(f"cannot be read ({error})") from error
        problem = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in problem["loc"]) or "the line"
        raise InputError(
            f'{where}: {problem["msg"]}; expected {{"role": "user", "text": "…"}}'
        ) from error
    return check_turn(NewTurn(role=parsed.role, text=parsed.text, at=parsed.at))
