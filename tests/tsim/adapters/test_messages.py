"""Messages of chat APIs: everything is remembered, and what fits comes back as it was."""

import asyncio
import threading

import pytest

from tests.support.hashes import Hashes
from tests.support.served import served
from tsim import InputError, Memory, NewTurn
from tsim.adapters.extras import require
from tsim.adapters.keeping import keep
from tsim.adapters.messages import Chat, Message, describe, question_of
from tsim.adapters.recall import PREAMBLE
from tsim.adapters.window import cost, price
from tsim.client import AsyncClient, Client


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def answer(text: str) -> Message:
    return {"role": "assistant", "content": text}


OPENAI = [
    user("Which city is warm?"),
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "weather", "arguments": '{"city": "Lisbon"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "31 degrees"},
    answer("Lisbon is."),
]
ANTHROPIC = [
    user("Which city is warm?"),
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "I should look.", "signature": "c2ln"},
            {"type": "tool_use", "id": "t1", "name": "weather", "input": {"city": "Lisbon"}},
        ],
    },
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "31 degrees"}],
    },
    answer("Lisbon is."),
]
RESPONSES = [
    user("Which city is warm?"),
    {"type": "reasoning", "id": "rs1", "summary": []},
    {"type": "function_call", "call_id": "f1", "name": "weather", "arguments": "{}", "id": "fc1"},
    {"type": "function_call_output", "call_id": "f1", "output": "31 degrees"},
    {
        "type": "message",
        "role": "assistant",
        "id": "m1",
        "status": "completed",
        "content": [{"type": "output_text", "text": "Lisbon is.", "annotations": []}],
    },
]
FORMS = pytest.mark.parametrize(
    "messages", [OPENAI, ANTHROPIC, RESPONSES], ids=["openai", "anthropic", "responses"]
)


@pytest.fixture
def memory(tmp_path):
    with Memory.open(tmp_path / "memory.db", model=Hashes()) as opened:
        yield opened


@pytest.fixture
def chat(memory):
    return Chat(memory.thread("alice"), clock=None)


@FORMS
def test_messages_of_every_api_come_back_as_they_were(chat, messages):
    chat.remember(messages)
    assert chat.messages_for("thanks") == messages


@FORMS
def test_no_tool_call_comes_without_its_result(chat, messages):
    chat.remember(messages)
    for budget in range(1, 200, 11):
        shown = [describe(one) for one in chat.messages_for("degrees", budget)]
        called = {name for one in shown for name in one.calls}
        assert called == {name for one in shown for name in one.results}
        assert cost(shown) <= budget


def test_what_was_said_long_ago_is_in_front_of_the_latest_messages(chat):
    chat.remember([user("New projects run on one consumer gpu."), answer("Noted.")])
    for number in range(60):
        chat.remember([user(f"Now to bread, number {number}."), answer("It rises well.")])
    first, *rest = chat.messages_for("one consumer gpu for new projects", 400)
    assert first["role"] == "system"
    assert first["content"].startswith(PREAMBLE)
    assert "consumer gpu" in first["content"]
    assert rest[-1] == answer("It rises well.")
    assert user("Now to bread, number 59.") in rest
    said = [one["content"] for one in rest]
    assert "number 59" not in first["content"]
    assert sum(map(price, [first["content"], *said])) <= 400
    assert chat.messages_for("one consumer gpu", 400, role="developer")[0]["role"] == "developer"


def test_what_was_recalled_and_instructions_are_not_remembered(chat):
    chat.remember([user("one gpu"), answer("noted")] * 30)
    recalled = chat.messages_for("one gpu", 100, role="user")
    assert recalled[0]["content"].startswith(PREAMBLE)
    chat.remember([{"role": "system", "content": "Be brief."}, recalled[0]])
    assert len(chat.last()) == 60


def test_messages_with_an_id_are_remembered_once(chat):
    message = {**user("one gpu"), "id": "m1", "at": "2026-05-01T12:00:00Z"}
    chat.remember([message])
    chat.remember([message, {**answer("noted"), "id": "m2"}])
    assert chat.messages_for("thanks") == [user("one gpu"), answer("noted")]
    assert chat.thread.turns()[0].at == 1777636800.0


def test_images_that_are_too_large_come_back_without_the_image(chat):
    data = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "QUJD" * 3000}}
    chat.remember([{"role": "user", "content": [{"type": "text", "text": "look"}, data]}])
    assert chat.messages_for("thanks") == [user("look")]


def test_turns_that_were_added_without_an_adapter_are_messages_too(memory, chat):
    thread = memory.thread("alice")
    thread.add_many([("Ada", "one gpu"), ("model", "noted"), ("tool", "x"), ("system", "y")])
    assert chat.show(None).messages == (user("one gpu"), answer("noted"))


def test_what_another_adapter_made_is_shown_as_far_as_it_is_text(memory, chat):
    thread, empty = memory.thread("alice"), NewTurn(role="assistant", text="")
    call = keep({"kind": "response", "parts": [{"tool_name": "w", "args": "x"}]}, empty, "other")
    thread.add_many([NewTurn(role="user", text="one gpu"), call, ("assistant", "noted")])
    assert chat.show(None).messages == (user("one gpu"), answer("noted"))


@pytest.mark.parametrize("shape", ["[1]", "{", '["$",0,99]', "null"])
def test_what_others_wrote_in_place_of_a_shape_harms_nothing(memory, chat, shape):
    memory.thread("alice").add("user", "one gpu", meta={"tsim:message": shape})
    assert chat.show(None).messages == (user("one gpu"),)


def test_a_memory_without_turns_shows_nothing(chat):
    assert chat.messages_for("what?") == []
    chat.clear()
    chat.remember([])
    assert chat.show(None).messages == ()


def test_all_can_be_forgotten(chat):
    chat.remember(OPENAI)
    chat.clear()
    assert chat.last() == []


@pytest.mark.parametrize("message", ["text", {"content": "x"}, {"role": 3, "content": "x"}, None])
def test_what_is_no_message_is_refused_before_anything_is_written(chat, message):
    with pytest.raises(InputError, match="expected"):
        chat.remember([user("one gpu"), message])
    assert chat.last() == []


@pytest.mark.parametrize(("name", "value"), [("budget", 0), ("latest_share", 2), ("tokens", 3)])
def test_values_out_of_range_are_refused(memory, name, value):
    with pytest.raises(InputError, match=name):
        Chat(memory.thread("alice"), **{name: value})


def test_the_question_is_what_the_user_said_last():
    assert question_of(OPENAI) == "Which city is warm?"
    assert question_of(ANTHROPIC) == "Which city is warm?"
    assert question_of([answer("hello")]) is None


def test_the_event_loop_is_never_blocked(memory):
    """Whatever touches the memory does so in another thread than the loop's."""
    thread, used = memory.thread("alice"), []

    class Watched:
        name = "alice"

        def __getattr__(self, method):
            def call(*given, **named):
                used.append(threading.current_thread())
                return getattr(thread, method)(*given, **named)

            return call

    async def talk():
        chat = Chat(Watched())
        await chat.aremember(OPENAI)
        assert await chat.amessages_for("degrees") == OPENAI
        assert len(await chat.alast()) == 4
        await chat.aclear()
        assert await chat.alast() == []
        return threading.current_thread()

    loop = asyncio.run(talk())
    assert len(used) >= 6
    assert loop not in used


def test_threads_on_a_server_are_used_alike(tmp_path):
    async def talk(url):
        async with AsyncClient(url) as client:
            chat = Chat(client.thread("bob"))
            assert await chat.amessages_for("degrees") == []
            await chat.aremember(OPENAI)
            assert await chat.amessages_for("thanks") == OPENAI
            with pytest.raises(InputError, match="can only be awaited"):
                chat.messages_for("thanks")

    with served(tmp_path / "memories") as url:
        with Client(url) as client:
            chat = Chat(client.thread("alice"))
            chat.remember(ANTHROPIC)
            assert chat.messages_for("thanks") == ANTHROPIC
            assert asyncio.run(chat.amessages_for("thanks")) == ANTHROPIC
        asyncio.run(talk(url))


def test_a_framework_that_is_missing_is_named_with_its_extra():
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'tsim-memory\[langgraph\]'"):
        require("no_such_framework", extra="langgraph")
