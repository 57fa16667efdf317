"""MCP: what assistants can do with a memory, and what they cannot."""

import json
import logging
import os
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import anyio
import httpx
import jsonschema
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from tests.support.assistants import VERSIONS, by_http, command, tell
from tests.support.hashes import Hashes
from tests.support.served import make_key, served
from tsim import Memory
from tsim.errors import InputError
from tsim.server.access import Scope
from tsim.server.access.gate import Access
from tsim.server.mcp import build, single
from tsim.server.mcp.confirming import SECONDS, Shown, check, issue
from tsim.server.mcp.http import security
from tsim.server.settings import Limits, Settings
from tsim.tokens.scripts import estimate

TOOLS = {"remember", "recall", "context", "recent", "forget", "explain"}
# Tokens, by our estimate: of the list of tools, and of what models are shown of it.
WHOLE, SHOWN = 1_800, 1_000

RULE = "only one gpu for new projects"
LETTER = "the budget letter is due on friday"


@pytest.fixture
def memory(tmp_path):
    with Memory.open(tmp_path / "memory.db", model=Hashes()) as opened:
        yield opened


@pytest.fixture
def ask(memory):
    """Calls a tool in this process, each time as another client."""
    server = build(single(memory))

    def call(tool, **arguments):
        answers = []

        async def story(client):
            answers.append(await client.call_tool(tool, arguments))

        tell(server, story)
        return answers[0]

    return call


def said(answer):
    """What a tool answered."""
    assert not answer.is_error, answer.content
    return answer.structured_content


def refused(answer):
    """Why a tool did not do it."""
    assert answer.is_error
    assert "Traceback" not in answer.content[0].text
    return answer.content[0].text


async def whole_story(client):
    """Uses every tool and resource; what a tool answers has the form that it promises."""
    listed = {tool.name: tool for tool in (await client.list_tools()).tools}

    async def call(tool, **arguments):
        answer = await client.call_tool(tool, arguments)
        jsonschema.validate(said(answer), listed[tool].output_schema)
        return answer.structured_content

    assert await call("remember", text=RULE, id="a") == {"turns": [0], "known": 0}
    assert await call("remember", text=RULE, id="a") == {"turns": [0], "known": 1}
    more = [{"role": "assistant", "text": "noted"}, {"role": "Nadia", "text": LETTER}]
    assert await call("remember", turns=more) == {"turns": [1, 2], "known": 0}
    spans = (await call("recall", query="how many gpu for new projects", min_relevance=0))["spans"]
    turns = [turn for span in spans for turn in span["turns"]]
    assert RULE in [turn["text"] for turn in turns]
    assert all(datetime.fromisoformat(turn["at"]).tzinfo for turn in turns)
    assert all(0 <= span["relevance"] <= 1 for span in spans)
    context = await client.call_tool("context", {"query": RULE})
    assert context.content[0].text == context.structured_content["text"]
    recent = await call("recent", n=2)
    assert [turn["role"] for turn in recent["turns"]] == ["assistant", "Nadia"]
    assert recent["total"] == 3
    explained = await call("explain", query=RULE)
    assert [*explained] == ["chosen", "near"]
    preview = await call("forget", turns=[2])
    assert (preview["forgotten"], preview["lines"]) == (False, [f"Nadia: {LETTER}"])
    gone = await call("forget", turns=[2], confirm=preview["confirm"])
    assert gone == {"forgotten": True, "turns": [2], "lines": [], "erased": gone["erased"]}
    assert (await call("recent"))["total"] == 2
    threads = await client.read_resource("tsim://threads")
    assert json.loads(threads.contents[0].text) == [{"name": "default", "turns": 2}]
    thread = json.loads((await client.read_resource("tsim://threads/default")).contents[0].text)
    assert (thread["name"], thread["total"]) == ("default", 2)
    assert [turn["text"] for turn in thread["turns"]] == [RULE, "noted"]


@pytest.mark.parametrize("version", VERSIONS)
def test_an_assistant_starts_the_command_and_uses_every_tool(version, tmp_path, tiny):
    tell(command(tmp_path / "memory.db", tiny), whole_story, version)


@pytest.mark.parametrize("version", VERSIONS)
def test_an_assistant_uses_every_tool_over_http(version, tmp_path):
    with served(tmp_path) as url:
        tell(by_http(f"{url}/mcp"), whole_story, version)
        assert (tmp_path / "default.db").is_file()


def test_the_tools_say_what_they_do_in_few_words(memory):
    found = []

    async def story(client):
        found.append(await client.list_tools())

    tell(build(single(memory)), story)
    tools = {tool.name: tool for tool in found[0].tools}
    assert {*tools} == TOOLS
    for name, tool in tools.items():
        hints = tool.annotations
        assert tool.title
        assert tool.description
        assert hints.open_world_hint is False
        assert hints.read_only_hint is (name not in ("remember", "forget"))
        assert "namespace" not in json.dumps(tool.input_schema)
    assert tools["forget"].annotations.destructive_hint is True
    assert tools["remember"].annotations.destructive_hint is False
    assert tools["remember"].annotations.idempotent_hint is False
    assert estimate(found[0].model_dump_json(by_alias=True, exclude_none=True)) < WHOLE
    fields = {"name", "description", "input_schema"}
    assert sum(estimate(tool.model_dump_json(include=fields)) for tool in found[0].tools) < SHOWN


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("recall", {}, "query: Field required"),
        ("recall", {"query": " "}, "the query is empty"),
        (
            "recall",
            {"query": "gpu", "bugdet": 5},
            "recall has no argument 'bugdet'; it takes query",
        ),
        ("recall", {"query": "gpu", "namespace": "other"}, "has no argument 'namespace'"),
        ("recall", {"query": "gpu", "budget": 0}, "budget: Input should be greater than 0"),
        ("recall", {"query": "gpu", "min_relevance": 2}, "min_relevance: Input should be less"),
        ("recall", {"query": "gpu", "since": "soon"}, "since='soon' is not a time"),
        ("recall", {"query": "gpu", "roles": "user"}, "roles: Input should be a valid"),
        ("recall", {"query": "gpu", "thread": "no"}, "there is no thread 'no'"),
        ("recent", {"n": 0}, "n: Input should be greater than 0"),
        ("remember", {}, "remember takes text or turns, found neither"),
        ("remember", {"text": "a", "turns": [{"role": "user", "text": "b"}]}, "found both"),
        ("remember", {"turns": [{"role": "user"}]}, "turns.0.text: Field required"),
        ("remember", {"turns": [{"role": "user", "text": "a", "when": "now"}]}, "turns.0.when"),
        ("remember", {"text": "a", "at": "later"}, "at='later' is not a time"),
        ("remember", {"text": "other words", "id": "a"}, "id"),
        ("forget", {}, "forget takes query or turns, found neither"),
        ("forget", {"turns": [99]}, "there is no turn 99"),
        ("forget", {"turns": [0], "confirm": "yes"}, "nothing was removed"),
        ("forget", {"turns": [0], "confirm": "9999999999-é"}, "nothing was removed"),
    ],
)
def test_bad_input_is_refused_with_what_to_do(ask, memory, tool, arguments, message):
    memory.thread("default").add("user", RULE, id="a")
    assert message in refused(ask(tool, **arguments))
    assert len(memory.thread("default")) == 1


def test_a_text_is_kept_as_it_is_whatever_it_looks_like(ask, memory):
    for text in ('{"a": 1}', "null", "[1]", "12"):
        said(ask("remember", text=text, role="true"))
    assert [turn.text for turn in memory.thread("default")] == ['{"a": 1}', "null", "[1]", "12"]
    assert said(ask("recall", query='["gpu"]', roles=None, since=None))["spans"] is not None


def test_turns_have_the_time_at_which_they_are_remembered(memory):
    now = datetime(2026, 5, 1, 9, 30, tzinfo=UTC)

    async def story(client):
        await client.call_tool("remember", {"text": RULE})
        await client.call_tool("remember", {"text": LETTER, "at": "2d"})

    tell(build(single(memory), clock=lambda: now), story)
    turns = memory.thread("default").turns()
    assert [turn.at for turn in turns] == [now.timestamp(), (now - timedelta(days=2)).timestamp()]


def test_threads_are_kept_apart_and_may_have_any_name(ask, memory):
    said(ask("remember", text=RULE, thread="../a b/ü"))
    said(ask("remember", text=LETTER))
    assert said(ask("recent", thread="../a b/ü"))["turns"][0]["text"] == RULE
    found = []

    async def story(client):
        found.append(await client.read_resource("tsim://threads/..%2Fa%20b%2F%C3%BC"))
        with pytest.raises(MCPError, match="there is no thread 'none'"):
            await client.read_resource("tsim://threads/none")

    tell(build(single(memory)), story)
    assert json.loads(found[0].contents[0].text)["name"] == "../a b/ü"


NOTHING = {
    "recall": {"spans": []},
    "context": {"text": "", "tokens": 0},
    "recent": {"turns": [], "total": 0},
    "explain": {"chosen": [], "near": []},
}
QUERY = {"recall": {"query": RULE}, "context": {"query": RULE}, "explain": {"query": RULE}}


def test_in_an_empty_memory_nothing_is_found(ask, memory):
    for tool, nothing in NOTHING.items():
        assert said(ask(tool, **QUERY.get(tool, {}))) == nothing
        assert said(ask(tool, **QUERY.get(tool, {}), thread="alice")) == nothing
    assert refused(ask("forget", turns=[0])) == "nothing is remembered yet"
    assert memory.threads() == []


def test_without_a_name_the_only_thread_is_read(ask, memory):
    memory.thread("alice").add("user", RULE)
    assert said(ask("recall", query=RULE))["spans"][0]["turns"][0]["text"] == RULE
    assert RULE in said(ask("context", query=RULE))["text"]
    assert said(ask("recent"))["total"] == 1
    assert said(ask("explain", query=RULE))["chosen"]
    # What is added or removed is never guessed.
    assert "there is no thread 'default'" in refused(ask("forget", turns=[0]))
    memory.thread("default").add("user", LETTER)
    assert said(ask("recent"))["turns"][0]["text"] == LETTER


def test_who_names_no_thread_that_exists_is_told_which_do(ask, memory):
    names = [f"t{number:02}" for number in range(12)]
    for name in names:
        memory.thread(name).add("user", RULE)
    told = f"name one of these: {', '.join(map(repr, names[:10]))} and 2 more"
    for tool in NOTHING:
        asked = QUERY.get(tool, {})
        assert refused(ask(tool, **asked)) == f"there is no thread 'default'; {told}"
        assert refused(ask(tool, **asked, thread="x")) == f"there is no thread 'x'; {told}"
    assert refused(ask("forget", turns=[0])) == f"there is no thread 'default'; {told}"


def test_threads_of_the_own_namespace_are_told_to_readers_alone(tmp_path):
    mine, theirs = make_key(tmp_path, "one"), make_key(tmp_path, "two")
    eraser = make_key(tmp_path, "one", Scope.FORGET)

    async def remembers(client):
        said(await client.call_tool("remember", {"text": RULE, "thread": "alice"}))

    async def remembers_other(client):
        said(await client.call_tool("remember", {"text": RULE, "thread": "bob"}))

    async def is_told(client):
        message = refused(await client.call_tool("recall", {"query": "gpu", "thread": "x"}))
        assert message == "there is no thread 'x'; name one of these: 'alice'"

    async def is_not_told(client):
        message = refused(await client.call_tool("forget", {"turns": [0], "confirm": "1-a"}))
        assert message == "there is no thread 'default'"

    with served(tmp_path, keys=True) as url:
        tell(by_http(f"{url}/mcp", mine), remembers)
        tell(by_http(f"{url}/mcp", theirs), remembers_other)
        tell(by_http(f"{url}/mcp", mine), is_told)
        tell(by_http(f"{url}/mcp", eraser), is_not_told)


def test_what_surrounds_a_chosen_turn_has_no_relevance_of_its_own(ask, memory):
    filler = [("model", f"well, weather again {number}") for number in range(12)]
    turns = [*filler[:6], ("user", RULE), *filler[6:]]
    memory.thread("default").add_many(turns)
    explained = said(ask("explain", query=RULE, budget=30))
    (chosen,) = explained["chosen"]
    assert 6 in chosen["turns"]
    (around,) = [near for near in explained["near"] if {5, 7} & {*near["turns"]}]
    assert "relevance" not in around


def test_an_explanation_names_words_and_terms_and_what_nearly_was_chosen(ask, memory):
    thread = memory.thread("default")
    thread.add_many([("user", f"{RULE} number {number}") for number in range(40)])
    explained = said(ask("explain", query="one gpu number 7", budget=60))
    assert explained["chosen"]
    for reason in explained["chosen"]:
        assert reason["turns"]
        assert "probability of a new topic" in reason["why"]
        assert "gpu" in reason["words"]
        assert reason["terms"]
    chosen = {turn for reason in explained["chosen"] for turn in reason["turns"]}
    assert explained["near"]
    assert not chosen & {turn for near in explained["near"] for turn in near["turns"]}


def test_nothing_is_forgotten_without_a_confirmation_of_exactly_this(ask, memory):
    for name in ("default", "other"):
        memory.thread(name).add_many([("user", RULE), ("user", LETTER)])
    token = said(ask("forget", turns=[0]))["confirm"]
    for other in ({"turns": [1]}, {"turns": [0, 1]}, {"turns": [0], "thread": "other"}):
        assert "nothing was removed" in refused(ask("forget", **other, confirm=token))
    assert len(memory.thread("default")) == len(memory.thread("other")) == 2
    assert said(ask("forget", turns=[0], confirm=token))["turns"] == [0]
    assert "there is no turn 0" in refused(ask("forget", turns=[0], confirm=token))
    assert len(memory.thread("default")) == 1


def test_a_confirmation_is_not_for_a_thread_that_was_begun_anew(ask, memory):
    memory.thread("default").add("user", RULE)
    token = said(ask("forget", turns=[0]))["confirm"]
    memory.forget_thread("default")
    memory.thread("default").add("user", LETTER)
    assert "nothing was removed" in refused(ask("forget", turns=[0], confirm=token))
    assert len(memory.thread("default")) == 1


def test_questions_are_bounded(ask, memory):
    memory.thread("default").add("user", RULE)
    for name in ("recall", "context", "explain", "forget"):
        assert "at most" in refused(ask(name, query="x" * 20_000))


def test_what_a_search_finds_is_forgotten_if_it_was_shown(ask, memory):
    memory.thread("default").add("user", RULE)
    preview = said(ask("forget", query=RULE))
    assert preview["turns"] == [0]
    assert len(preview["relevances"]) == 1
    gone = said(ask("forget", turns=preview["turns"], confirm=preview["confirm"]))
    assert gone["turns"] == preview["turns"]


def test_what_a_search_finds_is_not_all_forgotten_with_one_word(ask, memory):
    """Several turns that a query may mean have to be named before they can be confirmed."""
    for n in range(4):
        memory.thread("default").add_many([("user", f"tea {k} " * 60) for k in range(12)])
        memory.thread("default").add("user", f"{RULE} {n}")
    preview = said(ask("forget", query=RULE))
    found = memory.thread("default").preview_forget(RULE)
    assert 1 < len(found) <= 10
    assert (preview["turns"], preview["lines"]) == ([*found.turns], [*found.lines])
    assert preview["relevances"] == [*found.relevances]
    assert preview.get("confirm") is None
    named = said(ask("forget", turns=preview["turns"][:1]))
    assert named["confirm"]


def test_more_turns_than_anybody_reads_are_not_previewed(ask, memory):
    memory.thread("default").add_many([("user", f"turn {number}") for number in range(201)])
    assert "201 turns" in refused(ask("forget", turns=[*range(201)]))


def test_confirmations_end_and_are_of_one_server():
    shown = Shown(namespace="a", thread="t", turns=(1, 2), lines=("user: a", "user: b"))
    token = issue(b"secret", shown, 1_000.0)
    check(b"secret", token, shown, 1_000.0 + SECONDS)
    wrong = [
        (b"secret", token, shown, 1_001.0 + SECONDS),
        (b"another", token, shown, 1_000.0),
        (b"secret", token, replace(shown, namespace="b"), 1_000.0),
        (b"secret", token, replace(shown, lines=("user: a", "user: c")), 1_000.0),
        (b"secret", f"9{token}", shown, 1_000.0),
        *[(b"secret", odd, shown, 0.0) for odd in ("", "1x", "é-1", "१-a", "9" * 5_000 + "-a")],
    ]
    for arguments in wrong:
        with pytest.raises(InputError, match="nothing was removed"):
            check(*arguments)


def test_answers_and_requests_are_bounded(memory):
    memory.thread("default").add_many([("user", f"{RULE} {number}") for number in range(20)])
    found = []

    async def story(client):
        found.append(await client.call_tool("recent", {"n": 10_000}))
        found.append(await client.call_tool("context", {"query": RULE, "budget": 10_000}))
        turns = [{"role": "user", "text": "a"}] * 4
        found.append(await client.call_tool("remember", {"turns": turns}))

    tell(build(single(memory), limits=Limits(page=5, budget=50, batch=3)), story)
    assert len(said(found[0])["turns"]) == 5
    assert 0 < said(found[1])["tokens"] <= 50
    assert "at most 3" in refused(found[2])


def test_what_fails_unexpectedly_is_logged_and_not_told(memory, caplog):
    def broken(scope, *, create=False):
        raise RuntimeError("a secret path")

    found = []

    async def story(client):
        found.append(await client.call_tool("recent", {}))
        with pytest.raises(MCPError) as raised:
            await client.read_resource("tsim://threads")
        assert "secret" not in str(raised.value)

    with caplog.at_level(logging.ERROR):
        tell(build(broken), story)
    assert refused(found[0]) == "the server failed; its log says why"
    assert "a secret path" in caplog.text


def test_the_logging_of_the_process_is_left_alone(memory):
    root = logging.getLogger()
    before = (root.level, [*root.handlers])
    try:
        root.handlers = []
        build(single(memory))
        assert (root.level, root.handlers) == (before[0], [])
    finally:
        root.handlers = before[1]


def test_keys_reach_their_own_namespace_alone(tmp_path):
    one, two, any_of_them = (make_key(tmp_path, name) for name in ("one", "two", None))

    async def remembers(client):
        said(await client.call_tool("remember", {"text": RULE}))
        token = said(await client.call_tool("forget", {"turns": [0]}))["confirm"]
        tokens.append(token)

    async def finds_nothing(client):
        assert said(await client.call_tool("recall", {"query": "gpu"})) == {"spans": []}
        message = refused(await client.call_tool("forget", {"turns": [0]}))
        assert message == "there is no such thread; adding a turn creates it"
        assert (await client.read_resource("tsim://threads")).contents[0].text == "[]"

    async def cannot_confirm(client):
        said(await client.call_tool("remember", {"text": RULE}))
        arguments = {"turns": [0], "confirm": tokens[0]}
        assert "nothing was removed" in refused(await client.call_tool("forget", arguments))

    async def finds(client):
        assert said(await client.call_tool("recent", {}))["total"] == 1

    tokens = []
    with served(tmp_path, keys=True) as url:
        tell(by_http(f"{url}/mcp", one), remembers)
        tell(by_http(f"{url}/mcp", two), finds_nothing)
        tell(by_http(f"{url}/mcp", two), cannot_confirm)
        tell(by_http(f"{url}/mcp/one", one), finds)
        tell(by_http(f"{url}/mcp/one", any_of_them), finds)
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        post = partial(httpx.post, json=body, headers={"Accept": "application/json"})
        for path, headers, status in (
            ("/mcp/two", one, 403),
            ("/mcp", {}, 401),
            ("/mcp", {"Authorization": "Bearer tsim_wrong"}, 401),
        ):
            answer = post(f"{url}{path}", headers={"Accept": "application/json", **headers})
            assert answer.status_code == status
            assert answer.headers["content-type"] == "application/problem+json"
    assert {path.stem for path in tmp_path.glob("*.db")} == {"one", "two"}


def test_a_key_does_what_its_scopes_allow(tmp_path):
    reader, writer, eraser = (
        make_key(tmp_path, "one", *scopes)
        for scopes in ([Scope.READ], [Scope.WRITE], [Scope.READ, Scope.FORGET])
    )

    async def writes(client):
        assert len((await client.list_tools()).tools) == len(TOOLS)
        said(await client.call_tool("remember", {"text": RULE}))
        for tool, arguments in (("recall", {"query": "gpu"}), ("forget", {"turns": [0]})):
            assert "scope read" in refused(await client.call_tool(tool, arguments))
        with pytest.raises(MCPError, match="scope read"):
            await client.read_resource("tsim://threads")

    async def reads(client):
        said(await client.call_tool("recent", {}))
        assert "scope write" in refused(await client.call_tool("remember", {"text": "a"}))
        token = said(await client.call_tool("forget", {"turns": [0]}))["confirm"]
        arguments = {"turns": [0], "confirm": token}
        assert "scope forget" in refused(await client.call_tool("forget", arguments))

    async def erases(client):
        token = said(await client.call_tool("forget", {"turns": [0]}))["confirm"]
        said(await client.call_tool("forget", {"turns": [0], "confirm": token}))

    with served(tmp_path, keys=True) as url:
        tell(by_http(f"{url}/mcp", writer), writes)
        tell(by_http(f"{url}/mcp", reader), reads, "2025-11-25")
        tell(by_http(f"{url}/mcp", eraser), erases)
    with Access(Settings(place=tmp_path).access) as access:
        noted = [entry for entry in access.audit() if entry.action == "forget"]
    assert [(entry.namespace, entry.about) for entry in noted] == [
        ("one", {"thread": "default", "turns": [0]})
    ]


def test_only_posts_to_a_name_of_the_server_are_answered(tmp_path):
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    headers = {"Accept": "application/json, text/event-stream"}
    with served(tmp_path, hosts=("memory.example",)) as url:
        assert httpx.get(f"{url}/mcp", headers=headers).status_code == 405
        assert httpx.delete(f"{url}/mcp").status_code == 405
        post = partial(httpx.post, f"{url}/mcp", json=body)
        assert post(headers=headers).json()["result"]["tools"]
        assert post(headers={**headers, "Host": "memory.example:80"}).status_code == 200
        assert post(headers={**headers, "Host": "evil.example"}).status_code == 403
        assert post(headers={**headers, "Origin": "https://evil.example"}).status_code == 403


def test_the_transport_knows_the_names_of_the_server_too(tmp_path):
    of = partial(Settings, place=tmp_path)
    own = security(of(hosts=("memory.example",)))
    assert {"127.0.0.1:*", "[::1]:*", "localhost", "memory.example:*"} <= {*own.allowed_hosts}
    assert "https://memory.example" in own.allowed_origins
    assert own.enable_dns_rebinding_protection
    assert not security(of(host="0.0.0.0")).enable_dns_rebinding_protection


def test_many_assistants_at_once_see_their_own_writes(tmp_path):
    keys = [make_key(tmp_path, f"n{number}") for number in range(4)]

    async def one(url, number, headers):
        async with Client(by_http(f"{url}/mcp", headers)) as client:
            for turn in range(3):
                text = f"secret of {number}: {turn}"
                said(await client.call_tool("remember", {"text": text}))
                turns = said(await client.call_tool("recent", {"n": 1}))["turns"]
                assert turns[0]["text"] == text

    async def all_at_once(url):
        async with anyio.create_task_group() as group:
            for number, headers in enumerate(keys):
                group.start_soon(one, url, number, headers)

    with served(tmp_path, keys=True) as url:
        anyio.run(all_at_once, url)


def messages(*calls):
    """Requests as they are written to a command."""
    about = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    return "".join(
        json.dumps(
            {
                "jsonrpc": "2.0",
                "id": number,
                "method": "tools/call",
                "params": {"name": tool, "arguments": arguments, "_meta": about},
            }
        )
        + "\n"
        for number, (tool, arguments) in enumerate(calls, 1)
    )


@pytest.fixture
def started(tmp_path, tiny):
    """The command as a process whose streams are ours."""
    asked = command(tmp_path / "memory.db", tiny)
    with subprocess.Popen(
        [asked.command, *asked.args],
        env=asked.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        process.kill()


def test_only_messages_are_printed_and_the_end_of_input_ends_it(started):
    started.stdin.write("no message\n" + messages(("remember", {"text": RULE}), ("recall", {})))
    started.stdin.flush()
    answers = [json.loads(started.stdout.readline()) for _ in range(2)]
    out, err = started.communicate(timeout=60)
    answers += [json.loads(line) for line in out.splitlines()]
    assert {answer.get("id") for answer in answers} == {1, 2}
    assert started.returncode == 0
    assert "Traceback" not in err


def test_a_killed_process_leaves_the_memory_sound(started, tmp_path, tiny_embedder):
    batch = [{"role": "user", "text": f"{RULE} {number}"} for number in range(50)]
    started.stdin.write(messages(*[("remember", {"turns": batch})] * 20))
    started.stdin.flush()
    first = json.loads(started.stdout.readline())
    assert not first["result"].get("isError"), first
    started.send_signal(signal.SIGKILL)
    started.wait(60)
    with Memory.open(tmp_path / "memory.db", model=tiny_embedder) as memory:
        assert memory.verify().problems == ()
        assert len(memory.thread("default")) >= 50
        assert len(memory.thread("default")) % 50 == 0


def test_an_interrupt_ends_the_command(started):
    started.stdin.write(messages(("remember", {"text": RULE})))
    started.stdin.flush()
    assert json.loads(started.stdout.readline())["id"] == 1
    started.send_signal(signal.SIGINT)
    assert started.wait(30) == -signal.SIGINT


def test_what_cannot_be_opened_is_said_before_anything_is_served(tmp_path, tiny):
    other = tmp_path / "notes.db"
    other.write_text("no memory")
    asked = command(other, tiny)
    ran = subprocess.run(
        [asked.command, *asked.args],
        env=asked.env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "notes.db" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_without_weights_the_command_says_what_to_fetch_and_creates_nothing(tmp_path):
    memory = tmp_path / "memory.db"
    ran = subprocess.run(
        [Path(sys.executable).with_name("tsim"), "mcp", "--memory", memory],
        env={**os.environ, "TSIM_CACHE": str(tmp_path / "cache")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "tsim models fetch" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert not memory.exists()


def test_without_the_extra_the_command_says_what_to_install(tmp_path):
    code = (
        "import sys; sys.modules['mcp'] = None\n"
        "from tsim.cli.app import main; sys.argv[:] = ['tsim', 'mcp']; main()"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "TSIM_CACHE": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1
    assert "pip install 'tsim-memory[server]'" in ran.stderr
    assert [*tmp_path.glob("*.db")] == []


def test_errors_of_the_store_name_no_files_over_http(tmp_path):
    (tmp_path / "default.db").write_text("no memory")
    found = []

    async def story(client):
        found.append(await client.call_tool("recent", {}))

    with served(tmp_path) as url:
        tell(by_http(f"{url}/mcp"), story)
    assert str(tmp_path) not in refused(found[0])
    assert "default.db" not in refused(found[0])
