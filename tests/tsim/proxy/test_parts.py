"""The pure parts: bytes of requests, which messages are kept, what they are called, answers."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tsim.proxy.talk import assistant, user
from tsim.errors import InputError
from tsim.proxy import ids
from tsim.proxy.answer import MOST, Answer
from tsim.proxy.chat import read_chat
from tsim.proxy.field import Insertion
from tsim.proxy.headers import returned, sent
from tsim.proxy.history import QUESTION, divide
from tsim.proxy.ids import turns_of
from tsim.proxy.settings import Proxied

values = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text() | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.text(), values, max_size=4)
space = st.text(" \t\n\r", max_size=3)


@st.composite
def bodies(draw):
    """A request as some program may write it, with the texts of its messages."""
    pieces = [
        json.dumps(
            one, indent=draw(st.none() | st.integers(0, 2)), ensure_ascii=draw(st.booleans())
        )
        for one in draw(st.lists(objects, max_size=5))
    ]
    spaced = ",".join(f"{draw(space)}{one}{draw(space)}" for one in pieces)
    rest = draw(objects)
    rest.pop("messages", None)
    fields = [f"{json.dumps(name)}{draw(space)}:{json.dumps(one)}" for name, one in rest.items()]
    place = draw(st.integers(0, len(fields)))
    fields.insert(place, f'"messages"{draw(space)}:{draw(space)}[{spaced or draw(space)}]')
    return f"{draw(space)}{{{','.join(fields)}}}{draw(space)}", pieces


@settings(max_examples=40)
@given(bodies(), st.data())
def test_every_byte_but_the_messages_stays(given_body, data):
    text, pieces = given_body
    chat = read_chat(text.encode())
    assert [chat.raw(number) for number in range(len(chat.messages))] == pieces
    kept = data.draw(st.lists(st.sampled_from(pieces), max_size=4)) if pieces else []
    out = chat.having(kept).decode()
    before, after = text[: chat.listed[0]], text[chat.listed[1] :]
    assert out == f"{before}[{','.join(kept)}]{after}"
    assert json.loads(out)["messages"] == [json.loads(one) for one in kept]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b'{"messages": {}}',
        b'{"messages": [1]}',
        b'{"messages": [], "messages": []}',
        b'{"messages": []} x',
        b'{"messages": [{}],}',
        b'{"a" 1}',
        b'{"messages": [' + b"[" * 100_000,
        '{"messages": []}'.encode("utf-16"),
        b'{"messages": [{"role": "\xff"}]}',
    ],
    ids=range(12),
)
def test_what_is_no_chat_is_an_error_of_ours(body):
    with pytest.raises(InputError, match="cannot be read as a chat"):
        read_chat(body)


roles = st.sampled_from(["system", "developer", "user", "assistant", "call", "tool"])


@st.composite
def histories(draw):
    out, calls = [], []
    for number, role in enumerate(draw(st.lists(roles, max_size=30))):
        if role == "call":
            calls.append(f"c{draw(st.integers(0, 5))}")
            called = {"id": calls[-1], "type": "function", "function": {"name": "f"}}
            out.append({"role": "assistant", "content": None, "tool_calls": [called]})
        elif role == "tool" and calls:
            name = draw(st.sampled_from(calls))
            out.append({"role": "tool", "tool_call_id": name, "content": f"{number}"})
        elif role != "tool":
            out.append({"role": role, "content": f"{number}"})
    return out


@given(histories(), st.integers(1, 12))
def test_what_is_kept_is_a_conversation(messages, recent):
    found = divide(messages, recent)
    assert sorted((*found.lead, *found.older, *found.recent)) == [*range(len(messages))]
    kept = [messages[place] for place in found.recent]
    said = [one for one in kept if one["role"] not in ("system", "developer")]
    every = [one for one in messages if one["role"] not in ("system", "developer")]
    assert len(said) >= min(recent, len(every))
    users = [one for one in messages if one["role"] == "user"]
    assert not users or users[-1] in kept
    assert not found.older or kept[0]["role"] == "user"
    # No result is torn from the last call of its name before it.
    calls = {}
    for place, one in enumerate(messages):
        for call in one.get("tool_calls", ()):
            calls[call["id"]] = place
        if place in found.recent and one["role"] == "tool":
            assert calls[one["tool_call_id"]] in found.recent


def test_a_question_that_is_too_long_keeps_both_ends():
    (only,) = [divide([user(f"first {'x' * 40_000} last")], 1).question]
    assert only.startswith("first x")
    assert only.endswith("x last")
    assert len(only) <= 2 * QUESTION + 1


def test_images_alone_are_no_question():
    assert divide([user([{"type": "image_url", "image_url": {"url": "x"}}])], 1).question == ""


def named(messages):
    return ids.named(messages, [ids.fingerprint(one) for one in messages])


@given(st.lists(st.sampled_from(["yes", "no", "more"]), min_size=1, max_size=8))
def test_ids_do_not_change_as_a_conversation_goes_on(words):
    messages = []
    for number, word in enumerate(words):
        messages += [user(word), assistant(f"{word} {number}")]
    last = dict(named(messages))
    assert len({*last.values()}) == len(messages)
    for length in range(2, len(messages) + 1, 2):
        assert dict(named(messages[:length])) == {place: last[place] for place in range(length)}


def test_what_programs_do_to_answers_changes_no_other_id():
    before = [user("a"), assistant("b"), user("c"), assistant("<think>x</think>d"), user("e")]
    after = [*before[:3], assistant("d"), before[4]]
    first, second = dict(named(before)), dict(named(after))
    assert {place for place in first if first[place] != second[place]} == {3}


def test_what_has_no_text_makes_no_turn():
    for nothing in ({"role": "assistant", "audio": {"id": "x"}}, {"role": "user", "content": []}):
        assert not turns_of(nothing, "a")
    with pytest.raises(InputError):
        turns_of(user("\ud800"), "a")


def stream(*pieces):
    answer = Answer("text/event-stream; charset=utf-8")
    for piece in pieces:
        answer.take(piece)
    answer.complete = True
    return answer


def event(text, **more):
    choice = {"index": 0, "delta": {"content": text}, **more}
    return f"data: {json.dumps({'choices': [choice]}, ensure_ascii=False)}\n\n".encode()


@given(st.text(min_size=1), st.data())
def test_pieces_are_joined_wherever_they_are_cut(text, data):
    whole = event(text[:3]) + event(text[3:], finish_reason="stop") + b"data: [DONE]\n\n"
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=5)))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    answer = stream(*pieces)
    message = answer.message()
    assert message is not None
    assert message["content"] == text
    assert not answer.partial


def test_a_stream_without_its_end_is_partial():
    assert stream(event("a")).partial
    assert not stream(event("a"), b"data: [DONE]\n").partial
    assert not stream(event("a"), event("", finish_reason="length")).partial
    assert stream(b'data: {"error": {"message": "oh no"}}\n\n').message() is None


def test_of_an_answer_without_end_only_so_much_is_kept():
    answer = stream(event("a"), *[b": " + b"x" * (MOST // 4)] * 5)
    assert answer.size <= MOST
    assert answer.partial
    assert answer.message()["content"] == "a"


def test_a_refusal_is_an_answer():
    answer = Answer("application/json")
    answer.take(b'{"choices": [{"message": {"content": null, "refusal": "No."}}]}')
    assert [turn.text for turn in turns_of(answer.message(), "a")] == ["No."]


@pytest.mark.parametrize(
    ("streamed", "body", "out"),
    [
        (False, b'{"a": 1}', b'{"tsim":1,"a": 1}'),
        (False, b"{}", b"{}"),
        (False, b"[]", b"[]"),
        (False, b"", b""),
        (True, b': {"x"\n\ndata: {"a": 1}\n', b': {"x"\n\ndata: {"tsim":1,"a": 1}\n'),
        (True, b"data: [DONE]\n", b"data: [DONE]\n"),
    ],
    ids=range(6),
)
def test_a_field_goes_into_the_first_object(streamed, body, out):
    insertion = Insertion(b'"tsim":1,', streamed=streamed)
    assert insertion.piece(body) == out
    assert insertion.piece(b"") == b""


def test_a_field_goes_in_once():
    insertion = Insertion(b'"tsim":1,', streamed=False)
    assert insertion.piece(b"") == b""
    assert insertion.piece(b'{"a":') == b'{"tsim":1,"a":'
    assert insertion.piece(b'{"b":') == b'{"b":'


def test_headers_named_by_connection_stay_here():
    given_headers = [(b"Connection", b"close, X-A"), (b"x-a", b"1"), (b"B", b"2"), (b"Date", b"d")]
    assert returned(given_headers) == [(b"B", b"2")]
    assert sent(given_headers, readable=True) == [
        (b"B", b"2"),
        (b"Date", b"d"),
        (b"accept-encoding", b"identity"),
    ]


@pytest.mark.parametrize(
    "wrong",
    [{"upstream": "nonsense"}, {"budget": 0}, {"recent": 0}, {"role": "king"}, {"seconds": 0}],
    ids=lambda one: next(iter(one)),
)
def test_settings_are_checked(wrong):
    with pytest.raises(InputError):
        Proxied(**{"upstream": "http://localhost/v1", **wrong})
