"""A capability of Pydantic AI, in agents whose model is a function."""

import asyncio
import threading

import pytest

pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed")

from pydantic_ai import Agent, BinaryContent
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models.function import FunctionModel

from tests.support.hashes import Hashes
from tests.tsim.adapters.conversation import FILLER, QUESTION, RULE, Watched
from tsim import Memory
from tsim.adapters.pydantic_ai import TsimMemory


@pytest.fixture
def thread(tmp_path):
    with Memory.open(tmp_path / "memory.db", model=Hashes()) as opened:
        yield opened.thread("alice")


def agent_with(thread, **more):
    """An agent that calls a tool if it is asked about the weather, and what its model is shown."""
    shown = []

    def answer(messages, info):
        shown[:] = messages
        asked = messages[-1].parts[-1]
        if "weather" in str(asked.content):
            return ModelResponse(parts=[ToolCallPart("look", {"city": "Lisbon"})])
        return ModelResponse(parts=[TextPart("Noted.")])

    memory = TsimMemory(thread, **more)
    agent = Agent(FunctionModel(answer), instructions="Be brief.", capabilities=[memory])

    @agent.tool_plain
    def look(city: str) -> str:
        return f"31 degrees in {city}"

    return agent, shown


def run(agent, *given, **named):
    return asyncio.run(agent.run(*given, **named))


def kinds(messages) -> list[str]:
    return [part.part_kind for one in messages for part in one.parts]


def test_what_was_said_long_ago_is_shown_and_not_added_again(thread):
    agent, shown = agent_with(thread, budget=300)
    for said in [RULE, *FILLER, QUESTION]:
        result = run(agent, said)
    first = shown[0].parts[0]
    assert isinstance(first, SystemPromptPart)
    assert RULE in first.content
    assert shown[-1].parts[-1].content == QUESTION
    assert kinds(result.all_messages()) == ["user-prompt", "text"]
    assert len(thread) == 2 * len(FILLER) + 4
    assert [turn.text for turn in thread.turns(limit=2)] == [RULE, "Noted."]


@pytest.mark.parametrize("budget", [20, 60, 120, 2000])
def test_tool_calls_come_with_their_results_or_not_at_all(thread, budget):
    agent, shown = agent_with(thread, budget=budget)
    for said in ("How is the weather?", "And the weather now?", "thanks"):
        run(agent, said)
    called = [kind for kind in kinds(shown) if "tool" in kind]
    assert called == ["tool-call", "tool-return"] * (len(called) // 2)
    assert len(called) == 4 or budget < 2000
    assert [turn.role for turn in thread.turns(limit=4)] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]


def test_messages_come_back_as_they_were(thread):
    agent, shown = agent_with(thread)
    first = run(agent, "How is the weather?").new_messages()
    run(agent, "thanks")
    before = [one.parts for one in shown if one.run_id is None]
    assert before == [one.parts for one in first]


def test_a_history_that_is_given_takes_the_place_of_the_latest_messages(thread):
    agent, shown = agent_with(thread)
    run(agent, RULE)
    history = [ModelRequest(parts=[UserPromptPart("hello")]), ModelResponse(parts=[TextPart("hi")])]
    run(agent, QUESTION, message_history=history)
    said = [part.content for one in shown for part in one.parts]
    assert RULE in said[0]
    assert said[1:] == ["hello", "hi", QUESTION]
    assert len(thread) == 4


def test_images_are_not_kept(thread):
    agent, shown = agent_with(thread)
    run(agent, ["look", BinaryContent(data=b"abc" * 3000, media_type="image/png")])
    run(agent, "thanks")
    assert [part.content for one in shown for part in one.parts] == ["look", "Noted.", "thanks"]
    assert "look" in thread.turns()[0].text
    assert len(thread.turns()[0].text) < 100


def test_the_event_loop_is_not_blocked(thread):
    watched = Watched(thread)

    async def talk():
        agent, _ = agent_with(watched)
        await agent.run(RULE)
        return threading.current_thread()

    assert asyncio.run(talk()) not in watched.used
    assert watched.used
