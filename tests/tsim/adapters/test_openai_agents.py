"""A session of the OpenAI Agents SDK, run by the SDK itself with a scripted model."""

import asyncio
import threading

import pytest

pytest.importorskip("agents", reason="openai-agents is not installed")

from agents import (
    Agent,
    Model,
    ModelResponse,
    RunConfig,
    Runner,
    Session,
    Usage,
    function_tool,
    set_tracing_disabled,
)
from agents.memory import SessionSettings
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from tests.support.hashes import Hashes
from tests.support.served import served
from tests.tsim.adapters.conversation import FILLER, QUESTION, RULE, Watched
from tsim import Memory
from tsim.adapters.openai_agents import TsimSession
from tsim.adapters.recall import PREAMBLE
from tsim.client import AsyncClient

set_tracing_disabled(True)


@function_tool
def weather(city: str) -> str:
    """Returns the weather of a city."""
    return f"31 degrees in {city}"


class Scripted(Model):
    """Calls a tool when it is asked about the weather, and notes what it was shown."""

    shown = ()

    async def get_response(self, system_instructions, input, *_, **__):
        self.shown = input
        if "weather" in str(input[-1].get("content")):
            said = ResponseFunctionToolCall(
                type="function_call",
                call_id=f"call_{len(input)}",
                name="weather",
                arguments='{"city": "Lisbon"}',
            )
        else:
            text = ResponseOutputText(type="output_text", text="Noted.", annotations=[])
            said = ResponseOutputMessage(
                id="m", type="message", role="assistant", status="completed", content=[text]
            )
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *_, **__):
        raise NotImplementedError


@pytest.fixture
def thread(tmp_path):
    with Memory.open(tmp_path / "memory.db", model=Hashes()) as opened:
        yield opened.thread("alice")


async def talk(session, *texts):
    model = Scripted()
    config = RunConfig(session_input_callback=session.recall)
    agent = Agent(name="assistant", model=model, tools=[weather])
    for text in texts:
        await Runner.run(agent, text, session=session, run_config=config)
    return model.shown


def test_it_is_a_session(thread):
    session = TsimSession(thread)
    assert isinstance(session, Session)
    assert session.session_id == "alice"


def test_what_was_said_long_ago_is_shown_and_not_added_again(thread):
    session = TsimSession(thread, budget=250)
    shown = asyncio.run(talk(session, RULE, *FILLER, QUESTION))
    assert shown[0]["role"] == "developer"
    assert shown[0]["content"].startswith(PREAMBLE)
    assert RULE in shown[0]["content"]
    assert shown[-1] == {"role": "user", "content": QUESTION}
    assert len(shown) < 24
    assert len(thread) == 2 * len(FILLER) + 4
    assert not any(turn.text.startswith(PREAMBLE) for turn in thread)


@pytest.mark.parametrize("budget", [20, 60, 100, 200, 2000])
def test_tool_calls_come_with_their_outputs_or_not_at_all(thread, budget):
    session = TsimSession(thread, budget=budget)
    shown = asyncio.run(talk(session, "How is the weather?", "And the weather now?", "thanks"))
    kinds = [item["type"] for item in shown if "call_id" in item]
    assert kinds == ["function_call", "function_call_output"] * (len(kinds) // 2)
    assert len(kinds) == (4 if budget == 2000 else len(kinds))
    assert len(thread) == 10


def test_items_come_back_as_they_were_and_can_be_taken_back(thread):
    session = TsimSession(thread)
    items = [
        {"role": "user", "content": "Which city is warm?"},
        {
            "type": "reasoning",
            "id": "__fake_id__",
            "summary": [{"type": "summary_text", "text": "x"}],
        },
        {
            "type": "function_call",
            "id": "__fake_id__",
            "call_id": "c",
            "name": "w",
            "arguments": "{}",
        },
        {"type": "function_call_output", "call_id": "c", "output": "31 degrees"},
    ]

    async def use():
        await session.add_items(items)
        assert await session.get_items() == items
        assert await session.get_items(limit=2) == items[-2:]
        assert await session.get_items(limit=0) == []
        assert await session.pop_item() == items[-1]
        # A call without its output is kept and not shown, nor is the reasoning before it.
        assert await session.get_items() == items[:1]
        assert await session.get_items(limit=9) == items[:3]
        await session.clear_session()
        assert await session.get_items() == []
        assert await session.pop_item() is None

    asyncio.run(use())


def test_the_limit_of_the_settings_is_kept(thread):
    session = TsimSession(thread)
    session.session_settings = SessionSettings(limit=2)
    shown = asyncio.run(talk(session, *FILLER[:4], "thanks"))
    assert [item.get("content") for item in shown if item.get("role") == "user"] == [
        FILLER[3],
        "thanks",
    ]


def test_the_event_loop_is_not_blocked(thread):
    watched = Watched(thread)

    async def run():
        await talk(TsimSession(watched), RULE, QUESTION)
        return threading.current_thread()

    assert asyncio.run(run()) not in watched.used
    assert watched.used


def test_a_thread_of_an_async_client_is_awaited(tmp_path):
    async def run(url):
        async with AsyncClient(url) as client:
            thread = client.thread("alice")
            shown = await talk(TsimSession(thread), RULE, QUESTION)
            return shown[0], await thread.count()

    with served(tmp_path / "memories") as url:
        assert asyncio.run(run(url)) == ({"role": "user", "content": RULE}, 4)
