"""A memory of LlamaIndex whose older messages go into a thread and come back by meaning.

Runs offline: the model is one that LlamaIndex has for tests. `python examples/llamaindex_block.py`
"""

import asyncio
import tempfile
from pathlib import Path

from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import MockLLM
from llama_index.core.memory import Memory as ChatMemory
from talk import QUESTION, TALK

from tsim import Memory
from tsim.adapters.llamaindex import TsimMemoryBlock


async def main() -> None:
    """Talks until the first messages no longer fit, then asks about the beginning."""
    with (
        tempfile.TemporaryDirectory() as place,
        Memory.open(Path(place) / "memory.db") as memory,
    ):
        block = TsimMemoryBlock(thread=memory.thread("alice"), budget=200)
        chat = ChatMemory.from_defaults(
            session_id="alice",
            token_limit=90,
            token_flush_size=20,
            memory_blocks=[block],
            tokenizer_fn=str.split,  # words; by default those of a tokenizer
        )
        engine = SimpleChatEngine.from_defaults(llm=MockLLM(max_tokens=8), memory=chat)
        for said in TALK:
            await engine.achat(said)
        messages = await chat.aget(input=QUESTION)
        print(f"{len(memory.thread('alice'))} turns remembered, {len(messages)} messages shown")
        print(messages[0].content)


if __name__ == "__main__":
    asyncio.run(main())
