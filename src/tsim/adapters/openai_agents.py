"""`TsimSession`: a session of the OpenAI Agents SDK. Needs the extra `openai-agents`.

    session = TsimSession(memory.thread("alice"))
    config = RunConfig(session_input_callback=session.recall)
    await Runner.run(agent, question, session=session, run_config=config)

The SDK asks a session for its items before it knows the question. So a session gives the latest
ones, and `recall`, as the callback that puts items and input together, adds what was found.
"""

from typing import TYPE_CHECKING, Any, cast

from tsim.adapters.extras import require

require("agents", extra="openai-agents")

from agents.memory import SessionABC
from agents.memory.session_settings import SessionSettings

from tsim.adapters.messages import Message, MessageCodec, describe, question_of
from tsim.adapters.protocol import AnyConversation
from tsim.adapters.recall import Recall

if TYPE_CHECKING:
    from agents.items import TResponseInputItem


class TsimSession(SessionABC):
    """Remembers all items of a conversation in a thread, and gives back what fits a budget."""

    def __init__(self, thread: AnyConversation, **more: Any) -> None:
        """Takes a thread of a `Memory`, a `Client` or an `AsyncClient`.

        Args:
            thread: The thread.
            more: What `tsim.adapters.recall.Recall` takes: `budget`, `latest_share`, `tokens`,
                `clock`.
        """
        # Some models give all their items the same id.
        self._recall = Recall[Message](thread, MessageCodec(ids=False), **more)
        self.session_id = thread.name
        self.session_settings = SessionSettings()

    async def get_items(self, limit: int | None = None) -> "list[TResponseInputItem]":
        """Returns the latest items that fit into the budget, tool calls with their results.

        Args:
            limit: Return the last items instead, at most so many, whatever they cost.
        """
        if limit is None:
            return _items((await self._recall.ashow(None)).messages)
        if limit < 1:
            return []
        return _items(one.message for one in (await self._recall.alast())[-limit:])

    async def add_items(self, items: "list[TResponseInputItem]") -> None:
        """Remembers items."""
        await self._recall.aremember(cast("list[Message]", items))

    async def pop_item(self) -> "TResponseInputItem | None":
        """Forgets the last item and returns it."""
        last = await self._recall.alast()
        if not last or last[-1].turn is None:
            return None
        await self._recall.aforget([last[-1].turn])
        return _items([last[-1].message])[0]

    async def clear_session(self) -> None:
        """Forgets all items."""
        await self._recall.aclear()

    async def recall(
        self, history: "list[TResponseInputItem]", new: "list[TResponseInputItem]"
    ) -> "list[TResponseInputItem]":
        """Returns items for the model: what was found for the new ones, the latest, the new ones.

        What was found is shown to the model, and not added to the session.
        """
        said = [describe(cast("Message", item)) for item in history]
        shown = await self._recall.ashow(question_of(cast("list[Message]", new)), said=said)
        context = [{"role": "developer", "content": shown.text}] if shown.text else []
        return _items([*context, *shown.messages, *new])


def _items(messages: Any) -> "list[TResponseInputItem]":
    return [*messages]
