"""A chat history of LangChain: what was added comes back as it was, as far as it fits."""

import asyncio
import threading
import warnings

import pytest

pytest.importorskip("langchain_core", reason="langchain-core is not installed")

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import ConfigurableFieldSpec
from langchain_core.runnables.history import RunnableWithMessageHistory

from tests.support.hashes import Hashes
from tests.tsim.adapters.conversation import FILLER, QUESTION, RULE, Watched
from tsim import Memory
from tsim.adapters.langchain import TsimChatHistory

CALL = {"name": "weather", "args": {"city": "Lisbon"}, "id": "c1", "type": "tool_call"}
MESSAGES = [
    HumanMessage("Which city is warm?", id="h1", additional_kwargs={"k": 1}),
    AIMessage("", tool_calls=[CALL], response_metadata={"model": "m"}),
    ToolMessage("31 degrees", tool_call_id="c1"),
    AIMessage([{"type": "text", "text": "Lisbon is."}], name="bot"),
]


@pytest.fixture
def memory(tmp_path):
    with Memory.open(tmp_path / "memory.db", model=Hashes()) as opened:
        yield opened


@pytest.fixture
def thread(memory):
    return memory.thread("alice")


def test_messages_come_back_as_they_were(thread):
    history = TsimChatHistory(thread)
    assert history.messages == []
    history.add_messages(MESSAGES)
    history.add_user_message("thanks")
    assert history.messages == [*MESSAGES, HumanMessage("thanks")]
    assert [turn.role for turn in thread.turns()] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    history.clear()
    assert history.messages == []


def test_what_was_said_long_ago_is_a_system_message(thread):
    history = TsimChatHistory(thread, budget=300)
    history.add_messages([HumanMessage(RULE), AIMessage("Noted.")])
    for said in FILLER:
        history.add_messages([HumanMessage(said), AIMessage("It rises.")])
    first, *rest = history.messages_for(QUESTION)
    assert isinstance(first, SystemMessage)
    assert RULE in first.content
    assert isinstance(rest[0], HumanMessage)
    assert rest[-2:] == [HumanMessage(FILLER[-1]), AIMessage("It rises.")]
    assert len(rest) < 24
    history.add_messages([first])
    assert len(thread) == 2 * len(FILLER) + 2


@pytest.mark.parametrize("budget", range(1, 60, 4))
def test_tool_calls_come_with_their_results_or_not_at_all(thread, budget):
    history = TsimChatHistory(thread, budget=budget)
    history.add_messages(MESSAGES)
    kinds = [one.type for one in history.messages]
    assert kinds.count("tool") == sum(
        bool(getattr(one, "tool_calls", 0)) for one in history.messages
    )


def test_a_chain_with_a_history_asks_with_the_question(memory):
    model = GenericFakeChatModel(messages=iter([AIMessage("Noted."), AIMessage("One gpu.")]))

    def factory(session: str, question: str) -> TsimChatHistory:
        return TsimChatHistory(memory.thread(session), question=question)

    fields = [ConfigurableFieldSpec(id=name, annotation=str) for name in ("session", "question")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LangChain would rather have graphs
        chain = RunnableWithMessageHistory(model, factory, history_factory_config=fields)
    for said in (RULE, QUESTION):
        config = {"configurable": {"session": "alice", "question": said}}
        answer = chain.invoke([HumanMessage(said)], config=config)
    assert answer.content == "One gpu."
    assert [turn.text for turn in memory.thread("alice")] == [RULE, "Noted.", QUESTION, "One gpu."]


def test_the_event_loop_is_not_blocked(thread):
    watched = Watched(thread)
    history = TsimChatHistory(watched)

    async def talk():
        await history.aadd_messages(MESSAGES)
        shown = await history.aget_messages()
        found = await history.amessages_for("degrees")
        await history.aclear()
        assert threading.current_thread() not in watched.used
        return shown, found

    assert asyncio.run(talk()) == (MESSAGES, MESSAGES)
    assert len(thread) == 0
