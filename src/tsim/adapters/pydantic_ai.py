"""`TsimMemory`: a capability of Pydantic AI. Needs the extra `pydantic-ai`.

    agent = Agent("…", capabilities=[TsimMemory(memory.thread("alice"))])

What was said in a run is remembered at its end. Each request of a run shows the model what was
found for the prompt, the latest messages before the run, and those of the run. The messages that a
run returns are its own: nothing that was recalled is among them.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tsim.adapters.extras import require

require("pydantic_ai", extra="pydantic-ai")

from pydantic import ValidationError
from pydantic_ai import RunContext
from pydantic_ai.agent import AgentRunResult
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext

from tsim.adapters.keeping import is_made, keep, kept, moment
from tsim.adapters.protocol import AnyConversation
from tsim.adapters.recall import Recall
from tsim.adapters.shape import lift
from tsim.adapters.window import Said
from tsim.logs.fields import seconds_of
from tsim.types import MODEL_ROLES, USER_ROLE, NewTurn, Turn

# What is given anew with every request, and what is no part of the conversation.
LEFT_OUT = frozenset({"instructions", "run_id", "conversation_id", "metadata", "usage"})
FORM = "pydantic-ai"
PROMPT, CALL, SYSTEM = "user-prompt", "tool-call", "system-prompt"
RESULTS = frozenset({"tool-return", "retry-prompt"})


class MessageCodec:
    """Messages of Pydantic AI as turns, and turns as such messages."""

    def turn(self, message: ModelMessage) -> NewTurn | None:
        """Returns a message as a turn without its instructions; None if there is nothing else."""
        written = _written(message)
        written["parts"] = [one for one in written["parts"] if one["part_kind"] != SYSTEM]
        if not written["parts"]:
            return None
        text = lift(written["parts"])[0]
        turn = NewTurn(role=_speaker(written), text=text, at=_time(written))
        plain = _plain(turn.numbered(0))
        if plain and _essence(written) == _essence(_written(plain)):
            return turn
        return keep(written, turn, FORM, label=message.kind)

    def said(self, turn: Turn) -> Said[ModelMessage] | None:
        """Returns a turn as a message; what was added without an adapter as a message of text."""
        message = _read(kept(turn, FORM)) or _plain(turn)
        return None if message is None else describe(message, turn.id)


class TsimMemory(AbstractCapability[Any]):
    """Remembers the runs of an agent in a thread, and shows the model what fits its prompt."""

    def __init__(self, thread: AnyConversation, **more: Any) -> None:
        """Takes a thread of a `Memory`, a `Client` or an `AsyncClient`.

        Args:
            thread: The thread.
            more: What `tsim.adapters.recall.Recall` takes: `budget`, `latest_share`, `tokens`,
                `clock`.
        """
        self._recall = Recall[ModelMessage](thread, MessageCodec(), **more)

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Shows what was found and the latest messages before those of the run.

        A history that the run was started with takes the place of the latest messages of the
        thread.
        """
        given = request_context.messages
        own = [one for one in given if one.run_id == ctx.run_id]
        before = [describe(one) for one in given if one.run_id != ctx.run_id]
        request_context.messages = [*await self._shown(before, own), *own]
        return request_context

    async def after_run(
        self, ctx: RunContext[Any], *, result: AgentRunResult[Any]
    ) -> AgentRunResult[Any]:
        """Remembers the messages of the run."""
        await self._recall.aremember(result.new_messages())
        return result

    async def _shown(
        self, before: Sequence[Said[ModelMessage]], own: Sequence[ModelMessage]
    ) -> list[ModelMessage]:
        asked = [text for one in own if (text := _asked(one)).strip()]
        shown = await self._recall.ashow(asked[-1] if asked else None, said=before or None)
        found = [ModelRequest(parts=[SystemPromptPart(shown.text)])] if shown.text else []
        return [*found, *shown.messages]


def describe(message: ModelMessage, turn: int | None = None) -> Said[ModelMessage]:
    """Returns a message with what a window has to know about it."""
    written = _written(message)
    results = _ids(written, RESULTS)
    return Said(
        message=message,
        text=lift(written["parts"])[0],
        turn=turn,
        calls=_ids(written, frozenset({CALL})),
        results=results,
        opens=any(part["part_kind"] == PROMPT for part in written["parts"]) and not results,
    )


def _read(written: Any) -> ModelMessage | None:
    try:
        return ModelMessagesTypeAdapter.validate_python([written])[0]
    except ValidationError:  # nothing, or what somebody else wrote
        return None


def _essence(written: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the parts of a message without their times, which turns have themselves."""
    return [{k: v for k, v in part.items() if k != "timestamp"} for part in written["parts"]]


def _written(message: ModelMessage) -> dict[str, Any]:
    (written,) = ModelMessagesTypeAdapter.dump_python([message], mode="json")
    return {
        name: value
        for name, value in written.items()
        if name not in LEFT_OUT and value not in (None, {}, [])
    } | {"parts": written["parts"]}


def _ids(written: dict[str, Any], kinds: frozenset[str]) -> frozenset[str]:
    parts = (part for part in written["parts"] if part["part_kind"] in kinds)
    return frozenset(part["tool_call_id"] for part in parts if part.get("tool_name"))


def _time(written: dict[str, Any]) -> float | None:
    found = (one.get("timestamp") for one in (*written["parts"], written))
    return next((seconds_of(one) for one in found if one), None)


def _speaker(written: dict[str, Any]) -> str:
    if written["kind"] == "response":
        return "assistant"
    return "tool" if _ids(written, RESULTS) else USER_ROLE


def _asked(message: ModelMessage) -> str:
    """Returns what a user asks in a message; nothing if it is of somebody else."""
    parts = [part for part in _written(message)["parts"] if part["part_kind"] == PROMPT]
    return lift([{"content": part["content"]} for part in parts])[0]


def _plain(turn: Turn) -> ModelMessage | None:
    if turn.role in MODEL_ROLES:
        return None if is_made(turn) else ModelResponse(parts=[TextPart(turn.text)])
    if turn.role in ("tool", "system", "developer"):
        return None
    said = UserPromptPart(turn.text)
    return ModelRequest(parts=[replace(said, timestamp=moment(turn.at) or said.timestamp)])
