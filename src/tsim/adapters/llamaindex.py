"""`TsimMemoryBlock`: a memory block of LlamaIndex. Needs the extra `llamaindex`.

    block = TsimMemoryBlock(thread=memory.thread("alice"))
    memory = llama_index.core.memory.Memory.from_defaults(memory_blocks=[block], …)

LlamaIndex keeps the latest messages itself and hands over those that no longer fit. The block
remembers them, and gives back what matters for the last thing that the user said.
"""

from typing import Any

from tsim.adapters.extras import require

require("llama_index", extra="llamaindex")

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.memory import BaseMemoryBlock

from tsim.adapters.recall import BUDGET, Recall
from tsim.adapters.shape import lift
from tsim.adapters.window import Said
from tsim.types import NewTurn, Turn

ROLES = {MessageRole.CHATBOT: "assistant", MessageRole.FUNCTION: "tool"}
INSTRUCTING = (MessageRole.SYSTEM, MessageRole.DEVELOPER)


class MessageCodec:
    """LlamaIndex's messages as turns. They need not come back: only their text is shown."""

    def turn(self, message: ChatMessage) -> NewTurn | None:
        """Returns a message as a turn; None for instructions, and if there are no words in it."""
        text = _text(message)
        if message.role in INSTRUCTING or not text.strip():
            return None
        return NewTurn(role=ROLES.get(message.role, str(message.role.value)), text=text)

    def said(self, turn: Turn) -> Said[ChatMessage] | None:
        """Returns nothing."""
        return None


class TsimMemoryBlock(BaseMemoryBlock[str]):
    """What a thread holds about the last thing that was said, within a budget."""

    name: str = "tsim"
    thread: Any = Field(exclude=True, description="A thread of a memory, a client or AsyncClient.")
    budget: int = Field(default=BUDGET, description="Maximum number of tokens.")
    tokens: Any = Field(default="estimate", exclude=True, description="What counts the tokens.")
    _recall: Recall[ChatMessage] = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Prepares the thread.

        Raises:
            InputError: The budget or the counter cannot be used.
        """
        self._recall = Recall(self.thread, MessageCodec(), budget=self.budget, tokens=self.tokens)

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        said = [*(messages or [])]
        asked = [_text(one) for one in said if one.role == MessageRole.USER]
        if not asked or not asked[-1].strip():
            return ""
        shown = [Said(message=one, text=_text(one)) for one in said]
        return (await self._recall.afind(asked[-1], shown, self.budget)).text

    async def _aput(self, messages: list[ChatMessage]) -> None:
        await self._recall.aremember(messages)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Leaves all of it out: what is cut anywhere may lose what matters."""
        return None


def _text(message: ChatMessage) -> str:
    return lift([block.model_dump(mode="json") for block in message.blocks])[0]
