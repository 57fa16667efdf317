"""The client that most programs use, with nothing changed but its base URL."""

import asyncio

import openai
import pytest

from tests.support.upstream import CALL
from tests.tsim.proxy.talk import QUESTION, RULE, talk, user


@pytest.fixture
def client(talking):
    key = talking.key["Authorization"].removeprefix("Bearer ")
    with openai.OpenAI(base_url=talking.url, api_key=key, max_retries=0) as found:
        yield found


TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]


def test_an_answer(client, talking):
    found = client.chat.completions.create(model="echo", messages=[user("hello")])
    assert found.choices[0].message.content == "You said: hello"
    assert found.usage.total_tokens == 18
    assert [turn.text for turn in talking.kept(2)] == ["hello", "You said: hello"]


def test_a_stream_with_usage(client, talking):
    pieces = client.chat.completions.create(
        model="echo",
        messages=[user("one two")],
        stream=True,
        stream_options={"include_usage": True},
        logprobs=True,
    )
    chunks = [*pieces]
    text = "".join(one.choices[0].delta.content or "" for one in chunks if one.choices)
    assert text == "You said: one two"
    assert chunks[-1].usage.total_tokens == 18
    assert chunks[1].choices[0].logprobs.content[0].logprob == -0.5
    assert talking.kept(2)[1].text == text


def test_several_choices(client, talking):
    found = client.chat.completions.create(model="echo", messages=[user("hello")], n=3)
    assert [one.message.content for one in found.choices] == [
        "You said: hello",
        "You said: hello (1)",
        "You said: hello (2)",
    ]
    chosen = {"role": "assistant", "content": found.choices[2].message.content}
    client.chat.completions.create(model="echo", messages=[user("hello"), chosen, user("more")])
    assert chosen["content"] in [turn.text for turn in talking.turns()]


def test_what_was_saved_is_in_the_headers(client, model, talking):
    messages = [*talk(), user(QUESTION)]
    talking.learnt(messages)
    raw = client.chat.completions.with_raw_response.create(model="echo", messages=messages)
    assert int(raw.headers["x-tsim-tokens-saved"]) > 0
    assert raw.parse().choices[0].message.content == f"You said: {QUESTION}"
    assert RULE in model.last.messages[0]["content"]


@pytest.mark.parametrize("streamed", [False, True])
def test_an_agent_with_tools(client, model, talking, streamed):
    messages = [*talk(), user("What is the weather in Gent?")]
    talking.learnt(messages)
    options = {"model": "tools", "tools": TOOLS}
    if streamed:
        arguments = ""
        for chunk in client.chat.completions.create(messages=messages, stream=True, **options):
            for call in chunk.choices[0].delta.tool_calls or ():
                arguments += call.function.arguments or ""
        assert arguments == CALL["function"]["arguments"]
        called = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    else:
        first = client.chat.completions.create(messages=messages, **options)
        called = first.choices[0].message.model_dump(exclude_none=True)
        assert called["tool_calls"] == [CALL]
    result = {"role": "tool", "tool_call_id": "call_1", "content": "12 degrees"}
    again = client.chat.completions.create(messages=[*messages, called, result], **options)
    assert again.choices[0].message.content == "It is 12 degrees."
    assert model.last.messages[-3:] == [messages[-1], called, result]
    assert len(model.last.messages) < len(messages)


def test_errors_are_those_of_the_upstream(client, talking):
    with pytest.raises(openai.RateLimitError, match="slow down") as caught:
        client.chat.completions.create(model="429", messages=[user("hello")])
    assert caught.value.response.headers["retry-after"] == "0.01"
    with pytest.raises(openai.InternalServerError, match="oh no"):
        client.chat.completions.create(model="500", messages=[user("hello")])


def test_the_client_repeats_what_failed(talking, model):
    with (
        openai.OpenAI(base_url=talking.url, api_key="x", max_retries=1) as client,
        pytest.raises(openai.RateLimitError),
    ):
        client.chat.completions.create(model="429", messages=[user("hello")])
    assert len(model.seen) == 2


def test_a_stream_that_is_cut_is_an_error(client, talking):
    with pytest.raises(openai.APIConnectionError):
        [*client.chat.completions.create(model="cut", messages=[user("hello")], stream=True)]
    assert talking.kept(2)[1].meta == {"partial": True}


def test_models_are_listed(client, model):
    assert client.models.with_raw_response.list().status_code == 200
    assert model.last.path == "/api/v1/models"


def test_async_clients_at_the_same_time(talking, model):
    key = talking.key["Authorization"].removeprefix("Bearer ")

    async def ask(client, number):
        headers = {"X-Tsim-Thread": f"thread {number}"}
        said, answers = [], []
        for turn in range(3):
            said.append(user(f"this is {number} {turn}"))
            pieces = await client.chat.completions.create(
                model="echo", messages=said, stream=True, extra_headers=headers
            )
            text = "".join([one.choices[0].delta.content or "" async for one in pieces])
            answers.append(text)
            said.append({"role": "assistant", "content": text})
        return answers

    async def everybody():
        async with openai.AsyncOpenAI(base_url=talking.url, api_key=key) as client:
            return await asyncio.gather(*(ask(client, number) for number in range(5)))

    found = asyncio.run(everybody())
    caller = talking.thread()
    for number, answers in enumerate(found):
        assert answers == [f"You said: this is {number} {turn}" for turn in range(3)]
        turns = talking.kept(6, f"{caller}/thread {number}")
        assert all(f"this is {number} " in turn.text for turn in turns)
