"""What is kept of a conversation: everything, once, in order."""

import threading
from contextlib import suppress

import httpx
import pytest

from tests.support.hashes import Hashes
from tests.support.proxied import proxied
from tests.support.upstream import CUT
from tests.tsim.proxy.conftest import Talking, did, program
from tests.tsim.proxy.talk import QUESTION, RULE, assistant, talk, user
from tsim import Memory


def texts(turns):
    return [(turn.role, turn.text) for turn in turns]


def test_both_sides_are_kept_once_however_often_they_are_sent(talking):
    said = []
    for number in range(4):
        said.append(user(f"This is thing {number}"))
        answer = talking.ask(said).json()["choices"][0]["message"]["content"]
        talking.ask(said)  # sent again, because an answer was lost
        said.append(assistant(f"{answer}  \n"))  # programs trim and add spaces
    turns = talking.kept(8)
    assert [turn.text for turn in turns[::2]] == [f"This is thing {n}" for n in range(4)]
    assert [turn.text for turn in turns[1::2]] == [f"You said: This is thing {n}" for n in range(4)]
    assert all(turn.at for turn in turns)


def test_the_same_words_said_again_are_kept_again(talking):
    said = []
    for question in ("Shall I?", "yes", "And that?", "yes"):
        said += [user(question), assistant(f"You said: {question}")]
        talking.ask(said[:-1])
    assert [turn.text for turn in talking.kept(8)][::2] == ["Shall I?", "yes", "And that?", "yes"]


def test_a_history_from_elsewhere_is_learnt_in_order(talking):
    messages = [*talk(3), user("new")]
    talking.ask([{"role": "system", "content": "Be brief."}, *messages])
    turns = talking.kept(len(messages) + 1)
    assert texts(turns)[:-1] == [(one["role"], one["content"]) for one in messages]
    assert [turn.at is None for turn in turns] == [True] * len(talk(3)) + [False, False]


def test_other_instructions_make_no_other_conversation(talking):
    said = [user("hello"), assistant("You said: hello"), user("again")]
    for number in range(3):
        talking.ask([{"role": "system", "content": f"It is day {number}."}, *said])
    talking.kept(4)


def test_parts_and_marks_of_caches_make_no_other_message(talking):
    marked = {"type": "text", "text": "hello", "cache_control": {"type": "ephemeral"}}
    talking.ask([user([marked])])
    talking.ask([user("hello"), assistant("You said: hello"), user("more")])
    assert [turn.text for turn in talking.kept(4)][::2] == ["hello", "more"]


def test_an_edited_question_is_kept_beside_the_first(talking):
    talking.ask([user("one"), assistant("You said: one"), user("two")])
    talking.ask([user("one"), assistant("You said: one"), user("TWO")])
    assert [turn.text for turn in talking.kept(6)][-2:] == ["TWO", "You said: TWO"]


def test_a_question_asked_again_is_not_shown_its_first_answer(talking, model):
    messages = [*talk(), user(QUESTION)]
    talking.learnt(messages)
    talking.learnt(messages)
    assert RULE in model.last.messages[0]["content"]
    assert "You said" not in model.last.body.decode()


def test_what_is_forgotten_is_not_learnt_again(talking, model):
    messages = [*talk(), user(QUESTION)]
    answer = talking.learnt(messages)
    talking.kept(len(messages) + 1)
    with Memory.open(talking.place / "default.db", model=Hashes()) as memory:
        thread = memory.thread(talking.thread())
        thread.forget(turns=[turn.id for turn in thread.turns()[:2]])
    messages += [answer.json()["choices"][0]["message"], user("And which one for old projects?")]
    assert did(talking.ask(messages)) == "recalled"
    assert RULE not in model.last.body.decode()
    turns = talking.kept(len(messages) - 2 + 1)
    assert RULE not in [turn.text for turn in turns]


def test_errors_are_not_kept(talking):
    talking.ask([user("hello")], model="500")
    talking.ask([user("hello")])
    talking.kept(2)


def test_streamed_answers_are_put_together(talking):
    answer = talking.ask(
        [user("one two three")],
        stream=True,
        n=2,
        logprobs=True,
        stream_options={"include_usage": True},
    )
    assert answer.text.endswith("data: [DONE]\n\n")
    assert '"usage"' in answer.text
    _, turn = talking.kept(2)
    assert turn.text == "You said: one two three"
    assert turn.meta is None


def test_calls_and_results_of_tools(talking, model):
    said = [user("What is the weather in Gent?")]
    message = talking.ask(said, model="tools").json()["choices"][0]["message"]
    said += [message, {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"]}]
    said[-1]["content"] = "12 degrees"
    talking.ask(said, model="tools", stream=True)
    assert model.last.messages == said
    assert texts(talking.kept(3)) == [
        ("user", "What is the weather in Gent?"),
        ("tool", "12 degrees"),
        ("assistant", "It is 12 degrees."),
    ]


def test_a_broken_stream_passes_and_what_can_be_read_is_kept(talking, model):
    answer = talking.ask([user("hello")], model="broken", stream=True)
    body = {"model": "broken", "stream": True, "messages": [user("hello")]}
    direct = httpx.post(f"{model.url}/chat/completions", json=body)
    assert answer.content == direct.content
    assert [turn.text for turn in talking.kept(2)] == ["hello", "whole again"]


def test_an_answer_that_is_cut_is_kept_as_far_as_it_came(talking):
    with (
        pytest.raises(httpx.RemoteProtocolError),
        talking.client.stream(
            "POST",
            "/chat/completions",
            json={"model": "cut", "stream": True, "messages": [user("hello")]},
        ) as answer,
    ):
        assert answer.status_code == 200
        for _ in answer.iter_bytes():
            pass
    question, cut = talking.kept(2)
    assert (question.text, question.meta) == ("hello", None)
    assert (cut.text, cut.meta) == ("".join(CUT), {"partial": True})


def test_who_leaves_ends_the_answer_and_keeps_what_came(talking, model):
    body = {"model": "endless", "stream": True, "messages": [user("go on")]}
    with talking.client.stream("POST", "/chat/completions", json=body) as answer:
        pieces = answer.iter_bytes()
        got = next(pieces) + next(pieces)
        assert b"and on" in got
    assert model.left.wait(20)
    _, cut = talking.kept(2)
    assert cut.text.startswith("and on and on")
    assert cut.meta == {"partial": True}


def test_compressed_answers_pass_and_questions_are_kept(talking):
    assert talking.ask([user("hello")], model="gzip").json()["choices"]
    assert [turn.text for turn in talking.kept(1)] == ["hello"]


def test_answers_are_asked_for_without_compression(talking, model):
    talking.ask([user("hello")])
    assert model.last.headers["accept-encoding"] == "identity"
    talking.client.get("/models")
    assert "gzip" in model.last.headers["accept-encoding"]


def test_what_is_not_to_be_kept_is_not(talking, model):
    answer = talking.ask([user("a secret")], headers={"X-Tsim-Memory": "off"})
    assert did(answer) == "off"
    talking.ask([user("hello")])
    assert talking.kept(2)[0].text == "hello"


def test_the_next_request_sees_what_was_written(talking, model):
    """However slow writing is, it does not come between an answer and the next question."""
    messages = [*talk(), user("hello")]
    answer = talking.learnt(messages)
    for number in range(5):
        messages += [answer.json()["choices"][0]["message"], user(f"thing {number} " * 20)]
        answer = talking.ask(messages)
        assert did(answer) == "recalled"


def test_what_is_being_written_is_written_before_the_end(model, place):
    with proxied(place, model.url) as url, program(url, place) as talking:
        thread = talking.thread()
        talking.ask([*talk(40), user("hello")])
    assert len(talking.turns(thread)) == len(talk(40)) + 2


def test_an_answer_that_the_end_of_the_proxy_cuts_is_kept(model, place):
    body = {"model": "endless", "stream": True, "messages": [user("go on")]}
    reading = threading.Event()

    def read(talking):
        with (
            suppress(httpx.HTTPError),
            talking.client.stream("POST", "/chat/completions", json=body) as answer,
        ):
            for _ in answer.iter_bytes():
                reading.set()

    with proxied(place, model.url, limits={"drain_seconds": 0.1}) as url:
        talking = Talking(url, place)
        thread = talking.thread()
        reader = threading.Thread(target=read, args=(talking,))
        reader.start()
        assert reading.wait(20)
    reader.join(20)
    talking.client.close()
    _, cut = talking.turns(thread)
    assert cut.text.startswith("and on")
    assert cut.meta == {"partial": True}


def test_a_restart_forgets_nothing(model, place):
    messages = [*talk(), user(QUESTION)]
    with proxied(place, model.url) as url, program(url, place) as talking:
        talking.learnt(messages)
    with proxied(place, model.url) as url, program(url, place) as talking:
        assert did(talking.ask(messages)) == "recalled"
