"""A memory block of LlamaIndex, in a memory of LlamaIndex."""

import asyncio
import threading

import pytest

pytest.importorskip("llama_index.core", reason="llama-index-core is not installed")

from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock
from llama_index.core.memory import Memory as ChatMemory

from tests.support.hashes import Hashes
from tests.tsim.adapters.conversation import FILLER, QUESTION, RULE, Watched
from tsim import InputError, Memory
from tsim.adapters.llamaindex import TsimMemoryBlock
from tsim.adapters.window import price


@pytest.fixture
def thread(tmp_path):
    with Memory.open(tmp_path / "memory.db", model=Hashes()) as opened:
        yield opened.thread("alice")


def chat_memory(block: TsimMemoryBlock) -> ChatMemory:
    return ChatMemory.from_defaults(
        session_id="alice",
        token_limit=60,
        token_flush_size=20,
        memory_blocks=[block],
        tokenizer_fn=str.split,
        async_database_uri="sqlite+aiosqlite:///:memory:",
    )


def test_what_no_longer_fits_is_remembered_and_comes_back(thread):
    watched = Watched(thread)
    memory = chat_memory(TsimMemoryBlock(thread=watched, budget=200))

    async def talk():
        for said in [RULE, *FILLER]:
            await memory.aput(ChatMessage(role="user", content=said))
            await memory.aput(ChatMessage(role="assistant", content="It rises."))
        shown = await memory.aget(input=QUESTION)
        await memory.sql_store._async_engine.dispose()
        assert threading.current_thread() not in watched.used
        return shown

    first, *rest = asyncio.run(talk())
    assert first.role == "system"
    assert RULE in first.content
    assert all(one.content not in first.content for one in rest if "bread" in one.content)
    assert len(thread) > 8


def test_the_block_is_within_its_budget(thread):
    block = TsimMemoryBlock(thread=thread, budget=80)
    question = [ChatMessage(role="user", content=QUESTION)]

    async def ask():
        assert await block.aget(question) == ""
        await block.aput([ChatMessage(role="user", content=said) for said in [RULE, *FILLER]])
        return await block.aget(question), await block.aget([]), await block.aget()

    text, *nothing = asyncio.run(ask())
    assert RULE in text
    assert price(text) <= 80
    assert nothing == ["", ""]


def test_instructions_and_images_are_not_remembered(thread):
    block = TsimMemoryBlock(thread=thread)
    image = ImageBlock(image=b"QUJD" * 300, image_mimetype="image/png")
    asyncio.run(
        block.aput(
            [
                ChatMessage(role="system", content="Be brief."),
                ChatMessage(role="user", blocks=[image]),
                ChatMessage(role="user", blocks=[TextBlock(text="look"), image]),
                ChatMessage(role="chatbot", content="nice"),
            ]
        )
    )
    assert [(turn.role, turn.text) for turn in thread] == [("user", "look"), ("assistant", "nice")]


def test_a_budget_of_nothing_is_refused(thread):
    with pytest.raises(InputError, match="budget"):
        TsimMemoryBlock(thread=thread, budget=0)
