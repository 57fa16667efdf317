"""What is sent on and what comes back: unchanged, but for older messages."""

import json

import httpx
import pytest

from tests.support.proxied import BUDGET, proxied
from tests.support.upstream import CALL
from tests.tsim.proxy.conftest import did, program
from tests.tsim.proxy.talk import QUESTION, RULE, talk, user
from tsim.adapters.window import price


def said(message):
    return message["content"]


def test_a_short_chat_passes_byte_for_byte(talking, model):
    body = (
        b' {"messages" :[ {"role":"user","content":"caf\\u00e9", "x": 1.50e+3}], "model":"echo"}\n'
    )
    answer = talking.client.post("/chat/completions", content=body)
    assert model.last.body == body
    assert did(answer) == "fits"
    direct = httpx.post(f"{model.url}/chat/completions", content=body)
    assert answer.json()["choices"] == direct.json()["choices"]
    assert answer.headers["x-tsim-tokens-saved"] == "0"


def test_older_messages_are_replaced_by_what_is_relevant(talking, model):
    messages = [{"role": "system", "content": "Be brief."}, *talk(), user(QUESTION)]
    assert did(talking.ask(messages)) == "learning"
    assert model.last.messages == messages
    answer = talking.learnt(messages)
    system, context, *recent = model.last.messages
    assert system == messages[0]
    assert context["role"] == "user"
    assert RULE in context["content"]
    assert recent == messages[-len(recent) :]
    assert 2 <= len(recent) <= 3
    figures = {name: int(answer.headers[f"x-tsim-{name}"]) for name in FIGURES}
    assert figures["tokens-before"] - figures["tokens-after"] == figures["tokens-saved"] > 0
    assert figures["turns-retrieved"] > 0
    # Nothing is said twice: neither the question nor what was said just before it.
    assert not any(said(one) in context["content"] for one in recent)


FIGURES = ("tokens-before", "tokens-after", "tokens-saved", "turns-retrieved")


def test_what_is_kept_is_kept_byte_for_byte(talking, model):
    call = json.dumps(CALL, indent=1)
    calls = f'{{"role": "assistant",  "content": null, "tool_calls": [{call}]}}'
    result = '{"role": "tool", "tool_call_id": "call_1", "content": "12\\u00b0C" }'
    parts = '{"type":"image_url","image_url":{"url":"data:;base64,AA"}},{"type":"new","x":[1e2]}'
    image = f'{{"role":"user","content":[{{"type":"text","text":"And here?"}},{parts}]}}'
    older = json.dumps(talk())[1:-1]
    asked = json.dumps(user("What is the weather in Gent?"))
    said = f"{older}, {asked} ,{calls}\n,{result}"
    tail = '],"temperature":1.0,"seed":18446744073709551617, "tools" : [] }'
    body = ('{"model":"tools","messages":[' + said + tail).encode()
    assert did(talking.client.post("/chat/completions", content=body)) == "learning"
    answer = None
    while answer is None or did(answer) == "learning":
        answer = talking.client.post("/chat/completions", content=body)
    sent = model.last.body.decode()
    assert did(answer) == "recalled"
    assert sent.endswith(f"{asked},{calls},{result}{tail}".replace(" ,", ","))
    # An agent that goes on: the newest words of the user, all calls and all results stay.
    again = f'{{"model":"echo","messages":[{said}, {image}]}}'.encode()
    answer = talking.client.post("/chat/completions", content=again)
    assert did(answer) == "recalled"
    assert model.last.body.decode().endswith(f"{image}]}}")


def test_every_other_path_passes(talking, model):
    found = talking.client.get("/models", params={"limit": "2"}, headers={"X-Mine": "1"})
    assert found.json() == {"path": "/api/v1/models"}
    assert found.headers["x-upstream"] == "yes"
    assert (model.last.query, model.last.headers["x-mine"]) == ("limit=2", "1")
    body = b'{"input": "x",  "store": false}'
    for method, path in (("POST", "/responses"), ("DELETE", "/files/a%2Fb"), ("PUT", "/a")):
        talking.client.request(method, path, content=body)
        assert (model.last.method, model.last.body) == (method, body)
    assert "x-tsim-memory" not in found.headers


@pytest.mark.parametrize("path", ["/../admin", "/%2e%2e/admin", "/models/..%2f..%2fadmin"])
def test_no_path_leads_out_of_the_api(talking, model, path):
    raw = httpx.URL(talking.url).copy_with(raw_path=b"/v1" + path.encode())
    found = talking.client.get(raw)
    assert found.status_code in (400, 404)
    assert not model.seen


def test_headers_of_a_connection_and_of_the_proxy_stay_here(talking, model):
    headers = {
        "Connection": "X-Hop, keep-alive",
        "X-Hop": "1",
        "X-Tsim-Thread": "alice",
        "Cookie": "tsim_key=secret",
        "TE": "trailers",
        "OpenAI-Organization": "org",
    }
    talking.ask([user("hello")], headers=headers)
    got = model.last.headers
    assert got["authorization"] == talking.key["Authorization"]
    assert got["openai-organization"] == "org"
    assert not {"x-hop", "te", "cookie"} & {*got}
    assert not any(name.startswith("x-tsim") for name in got)
    assert got["host"] in model.url


@pytest.mark.parametrize("name", ["429", "500"])
def test_errors_of_the_upstream_pass(talking, model, name):
    found = talking.ask([user("hello")], model=name)
    direct = httpx.post(
        f"{model.url}/chat/completions", json={"model": name, "messages": [user("hello")]}
    )
    assert (found.status_code, found.content) == (direct.status_code, direct.content)
    assert found.headers["x-request-id"] == "req-1"
    assert found.headers.get("retry-after") == direct.headers.get("retry-after")


def test_what_is_no_chat_passes_too(talking, model):
    found = talking.client.post("/chat/completions", content=b"{not json")
    assert found.status_code == 400
    assert found.json()["error"]["message"] == "not JSON"
    assert (did(found), found.headers["x-tsim-reason"]) == ("failed", "bad_input")
    assert model.last.body == b"{not json"


def test_an_upstream_that_is_not_there(place):
    with proxied(place, "http://127.0.0.1:9/v1") as url:
        found = httpx.post(f"{url}/chat/completions", json={"model": "x", "messages": []})
    assert found.status_code == 502
    assert found.json()["kind"] == "remote_failed"


def test_requests_are_bounded(model, place):
    with proxied(place, model.url, limits={"body": 1000}) as url:
        found = httpx.post(f"{url}/chat/completions", content=b"x" * 2000)
    assert found.status_code == 413
    assert not model.seen


def test_the_budget_bounds_what_is_found(talking, model):
    messages = [*talk(30), user("Tell me about bread trains letters gardens violins")]
    talking.learnt(messages)
    assert price(model.last.messages[0]["content"]) <= BUDGET


@pytest.mark.parametrize("role", ["system", "developer"])
def test_what_is_found_can_have_another_role(model, place, role):
    with proxied(place, model.url, role=role) as url, program(url, place) as talking:
        talking.learnt([*talk(), user(QUESTION)])
    assert model.last.messages[0]["role"] == role


def test_a_field_says_what_was_saved(model, place):
    with proxied(place, model.url, field=True) as url, program(url, place) as talking:
        found = talking.learnt([*talk(), user(QUESTION)])
        assert found.json()["tsim"]["saved"] == int(found.headers["x-tsim-tokens-saved"])
        assert said(found.json()["choices"][0]["message"]) == f"You said: {QUESTION}"
        streamed = talking.ask([user("hello")], stream=True).text
        first = json.loads(streamed.partition("data: ")[2].partition("\n")[0])
        assert first["tsim"]["did"] == "fits"
        assert streamed.count("tsim") == 1


def test_answers_say_what_took_how_long(talking):
    timing = talking.learnt([*talk(), user(QUESTION)]).headers["server-timing"]
    took = {name: float(ms) for name, ms in (one.split(";dur=") for one in timing.split(", "))}
    whole = took.pop("tsim")
    stages = ("embed", "parse", "read", "look-up", "search", "assemble")
    assert [*took] == [f"tsim-{stage}" for stage in stages]
    assert min(took.values()) >= 0
    assert sum(took.values()) <= whole + 0.1 * len(took)
