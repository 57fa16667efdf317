"""The REST API, over real connections."""

import html
import json
import re
import socket
import sqlite3
import time
from pathlib import Path

import httpx
import pytest

from tests.support.hashes import Hashes
from tests.support.served import browsing, make_key, served
from tsim import Memory, wire
from tsim.errors import TsimError
from tsim.server import problems
from tsim.server.access import Scope
from tsim.server.access.gate import Access
from tsim.server.settings import Limits, Settings
from tsim.types import Episode, Forgotten, Hit, Turn

RULE = "New projects run on one consumer GPU."
TALK = [
    {"role": "user", "text": RULE, "id": "m1", "at": 1_700_000_000, "meta": {"channel": "ops"}},
    {"role": "assistant", "content": "Noted, one consumer GPU."},
    {"role": "user", "text": "What shall we cook tonight?"},
]


@pytest.fixture
def api(tmp_path):
    with browsing(tmp_path / "memories") as client:
        yield client


@pytest.fixture(scope="module")
def standing(tmp_path_factory):
    """A server for tests that leave nothing behind that others could see."""
    with browsing(tmp_path_factory.mktemp("standing") / "memories") as client:
        add(client)
        yield client


def add(api, thread="alice", turns=TALK, **given):
    answer = api.post(f"/v1/threads/{thread}/turns", json={"turns": turns}, **given)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_turn_is_found_as_soon_as_it_is_acknowledged(api):
    added = add(api)
    assert [one["turn"] for one in added["receipts"]] == [0, 1, 2]
    found = api.post("/v1/threads/alice/search", json={"query": "consumer GPU", "min_relevance": 0})
    hits = wire.adapter(list[Hit]).validate_python(found.json()["hits"])
    assert RULE in [turn.text for hit in hits for turn in hit.turns]


def test_answers_are_those_of_the_library(api, tmp_path):
    add(api)
    with Memory.open(tmp_path / "memories" / "default.db", model=Hashes()) as memory:
        thread = memory.thread("alice")
        asked = {"query": "which GPU?", "budget": 60, "min_relevance": 0.0}
        search = api.post("/v1/threads/alice/search", json=asked).json()
        assert wire.load(list[Hit], json.dumps(search["hits"])) == thread.search(**asked)
        context = api.post("/v1/threads/alice/context", json=asked).json()
        assert context["context"] == thread.context(**asked)
        assert context["tokens"] == memory.count_tokens(context["context"]) <= 60
        episodes = api.get("/v1/threads/alice/episodes", params={"threshold": 0.4}).json()
        assert wire.load(list[Episode], json.dumps(episodes["episodes"])) == thread.episodes(
            threshold=0.4
        )
        turns = api.get("/v1/threads/alice/turns").json()["turns"]
        assert wire.load(list[Turn], json.dumps(turns)) == thread.turns()


def test_adding_a_turn_twice_under_its_id_adds_it_once(api):
    first, again = add(api, turns=TALK[:1]), add(api, turns=TALK[:1])
    assert (first["receipts"][0]["known"], again["receipts"][0]["known"]) == (False, True)
    assert api.get("/v1/threads/alice").json() == {"name": "alice", "turns": 1}


def test_threads_turns_and_episodes_come_in_pages(api):
    for name in ("a", "b", "c"):
        add(api, name)
    first = api.get("/v1/threads", params={"limit": 2}).json()
    second = api.get("/v1/threads", params={"limit": 2, "after": first["next"]}).json()
    assert [one["name"] for one in first["threads"] + second["threads"]] == ["a", "b", "c"]
    assert second["next"] is None
    seen, after = [], None
    while True:
        params = {"limit": 1} if after is None else {"limit": 1, "after": after}
        page = api.get("/v1/threads/a/turns", params=params).json()
        seen += [turn["id"] for turn in page["turns"]]
        after = page["next"]
        if after is None:
            break
    assert seen == [0, 1, 2]
    assert [t["id"] for t in api.get("/v1/threads/a/recent?limit=2").json()["turns"]] == [1, 2]


def test_a_turn_can_be_asked_for_by_its_external_id(standing):
    standing.post(
        "/v1/threads/by-id/turns", json={"turns": [{"role": "u", "text": "x", "id": "m/1"}]}
    )
    found = standing.get("/v1/threads/by-id/turns", params={"called": "m/1"}).json()["turns"]
    assert [(turn["id"], turn["text"]) for turn in found] == [(0, "x")]
    assert standing.get("/v1/threads/by-id/turns?called=m2").json() == {"turns": [], "next": None}
    assert standing.get("/v1/threads/by-id/turns?called=").status_code == 400


@pytest.mark.parametrize("name", ["a/b", "..", "100 %", "a%2Fb", "näme ☂", "a?b#c", "v1/threads"])
def test_any_name_of_a_thread_can_be_addressed(standing, name):
    quoted = "".join(f"%{byte:02X}" for byte in name.encode())
    where = f"/v1/namespaces/n{name.encode().hex()}/threads"
    answer = standing.post(f"{where}/{quoted}/turns", json={"turns": TALK})
    assert answer.status_code == 200
    assert standing.get(where).json()["threads"] == [{"name": name, "turns": 3}]
    assert standing.get(f"{where}/{quoted}").json()["turns"] == 3


def test_a_question_to_several_threads_names_them(api):
    add(api, "alice")
    add(api, "bob")
    asked = {"query": "consumer GPU", "threads": ["bob", "alice"], "min_relevance": 0}
    hits = api.post("/v1/search", json=asked).json()["hits"]
    assert {hit["thread"] for hit in hits} == {"alice", "bob"}
    context = api.post("/v1/context", json=asked).json()["context"]
    assert context.index("[bob ") < context.index("[alice ")


def test_forgetting_shows_first_and_leaves_a_receipt_and_a_line_in_the_log(api, tmp_path):
    add(api)
    shown = api.post("/v1/threads/alice/forget/preview", json={"meta": {"channel": "ops"}}).json()
    assert shown["turns"] == [0]
    assert api.get("/v1/threads/alice").json()["turns"] == 3
    gone = api.post("/v1/threads/alice/forget", json={"turns": shown["turns"]})
    assert wire.load(Forgotten, gone.content).turns == (0,)
    rest = api.delete("/v1/threads/alice")
    assert wire.load(Forgotten, rest.content) == Forgotten(turns=(1, 2))
    assert api.get("/v1/threads").json()["threads"] == []
    with Access(Settings(place=tmp_path / "memories").access) as access:
        assert [entry.action for entry in access.audit()] == ["forget", "forget_thread"]
        assert access.audit_problems() == []
    files = [path.read_bytes() for path in (tmp_path / "memories").iterdir()]
    assert not any(RULE.encode() in content for content in files)


def test_an_export_can_be_imported_and_a_backup_opened(api, tmp_path):
    add(api)
    export = api.get("/v1/export")
    assert export.headers["content-type"] == "application/x-ndjson"
    imported = api.post("/v1/namespaces/other/import", content=export.content)
    assert imported.json() == {"turns": 3}
    again = api.get("/v1/namespaces/other/export")
    assert again.content == export.content
    backup = tmp_path / "backup.db"
    backup.write_bytes(api.get("/v1/backup").content)
    with Memory.open(backup, model=Hashes()) as memory:
        assert len(memory.thread("alice")) == 3
    assert not [*(tmp_path / "memories").glob(".tsim-*")]


def test_a_damaged_import_changes_nothing(api):
    add(api)
    export = api.get("/v1/export").content
    answer = api.post("/v1/namespaces/other/import", content=export[:-20])
    assert answer.status_code == 400
    assert api.get("/v1/namespaces/other/threads").json()["threads"] == []


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files cannot be listed")
def test_clients_that_go_away_leave_nothing_open(api, tmp_path, caplog):
    add(api)
    sent = {"Host": "127.0.0.1", "Connection": "close"}
    heads = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
    for request in (
        f"GET /v1/export HTTP/1.1\r\n{heads}\r\n",
        f"POST /v1/import HTTP/1.1\r\n{heads}Content-Length: 1000\r\n\r\nhalf",
    ):
        with socket.create_connection((api.base_url.host, api.base_url.port)) as gone:
            gone.sendall(request.encode())
    assert api.get("/v1/threads").status_code == 200

    def open_files() -> list[str]:
        links = Path("/proc/self/fd").iterdir()
        return [name for link in links if "(deleted)" in (name := _target(link))]

    for _ in range(1_000):
        left = [name for name in open_files() if str(tmp_path) in name]
        if not left:
            break
        time.sleep(0.01)
    assert not left
    assert "Traceback" not in caplog.text


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return ""


def test_reading_creates_nothing(api, tmp_path):
    assert api.get("/v1/namespaces/nobody/threads").json() == {"threads": [], "next": None}
    assert api.get("/v1/namespaces/nobody/threads/x/turns").status_code == 404
    assert not (tmp_path / "memories" / "nobody.db").exists()


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "kind"),
    [
        ("GET", "/v1/threads/none", None, 404, "thread_missing"),
        ("POST", "/v1/threads/a/turns", {"turns": []}, 400, "bad_input"),
        ("POST", "/v1/threads/a/turns", {"turns": [{"role": "user"}]}, 400, "bad_input"),
        ("POST", "/v1/threads/a/turns", {"turn": []}, 400, "bad_input"),
        ("POST", "/v1/threads/alice/search", {"query": "  "}, 400, "bad_input"),
        ("POST", "/v1/threads/alice/search", {"query": "x", "buget": 3}, 400, "bad_input"),
        ("POST", "/v1/threads/alice/search", {"query": "x", "since": "soon"}, 400, "bad_input"),
        ("POST", "/v1/threads/alice/forget", {}, 400, "bad_input"),
        ("POST", "/v1/threads/alice/forget", {"query": "x"}, 400, "bad_input"),
        ("GET", "/v1/threads/alice/episodes?threshold=2", None, 400, "bad_input"),
        ("GET", f"/v1/threads/{'x' * 300}", None, 400, "bad_input"),
        ("GET", "/v1/namespaces/..%2Fx/threads", None, 400, "bad_input"),
        ("GET", "/v1/namespaces/UPPER/threads", None, 400, "bad_input"),
        ("GET", "/nothing", None, 404, "not_found"),
        ("PUT", "/v1/threads", None, 405, "method_not_allowed"),
    ],
)
def test_errors_are_problems_that_say_what_to_do(standing, method, path, body, status, kind):
    answer = standing.request(method, path, json=body)
    assert (answer.status_code, answer.json()["kind"]) == (status, kind)
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["detail"]
    assert "standing" not in answer.text  # the place of its files


@pytest.mark.parametrize("body", [b"{", b"\xff\xfe", b"[" * 100_000, b'{"turns": 1e999}', b"null"])
def test_bodies_that_are_no_json_are_bad_input(standing, body):
    headers = {"Content-Type": "application/json"}
    answer = standing.post("/v1/threads/a/turns", content=body, headers=headers)
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"


def test_every_error_of_ours_has_a_status_of_its_own_choice():
    kinds, found = {TsimError}, {TsimError}
    while found:
        found = {below for one in found for below in one.__subclasses__()}
        kinds |= found
    for kind in kinds - {TsimError}:
        chosen = [status for base, status in problems.STATUSES if issubclass(kind, base)]
        assert chosen, kind


def test_a_damaged_memory_is_reported_without_its_place(tmp_path):
    place = tmp_path / "memories"
    place.mkdir()
    (place / "default.db").write_bytes(b"no memory" * 1000)
    with browsing(place) as api:
        answer = api.get("/v1/threads")
    assert answer.status_code == 500
    assert answer.json()["kind"] == "store_failed"
    assert str(tmp_path) not in answer.text


def test_a_memory_file_can_be_served_alone(tmp_path):
    with Memory.open(tmp_path / "mine.db", model=Hashes()) as memory:
        memory.thread("alice").add("user", RULE)
    with browsing(tmp_path / "mine.db") as api:
        assert api.get("/v1/threads").json()["threads"] == [{"name": "alice", "turns": 1}]
        assert api.get("/v1/memory").json()["namespace"] == "mine"
        answer = api.post("/v1/namespaces/other/threads/a/turns", json={"turns": TALK})
        assert answer.status_code == 404
    assert not (tmp_path / "other.db").exists()


def test_the_description_of_the_api_is_complete(api):
    found = api.get("/openapi.json").json()
    assert {
        "/v1/threads",
        "/v1/threads/{thread}/turns",
        "/v1/threads/{thread}/search",
        "/v1/threads/{thread}/context",
        "/v1/threads/{thread}/episodes",
        "/v1/threads/{thread}/forget",
        "/v1/export",
        "/v1/import",
        "/v1/backup",
    } <= {*found["paths"]}
    for path, methods in found["paths"].items():
        for method, about in methods.items():
            assert about.get("summary"), (method, path)
            assert about.get("description"), (method, path)
    assert found["security"] == []  # this server has no keys
    assert found["components"]["schemas"]["TurnsBody"]["examples"]
    assert found["components"]["schemas"]["ContextBody"]["examples"]


def test_the_reference_shows_every_request_and_loads_nothing_from_elsewhere(standing):
    answer = standing.get("/docs")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    summaries = html.unescape(" ".join(re.findall(r"<summary>.*?</summary>", answer.text)))
    for path, methods in standing.get("/openapi.json").json()["paths"].items():
        for about in methods.values():
            line = about["description"].partition("\n")[0]
            assert f'<code>{path}</code> <span class="soft">{line}</span>' in summaries
    introduction = answer.text.partition("<h2>")[0]
    assert "<code>/mcp</code>" in introduction and "<code>/metrics</code>" in introduction
    assert "//" not in answer.text.replace("openapi.json", "")
    assert standing.get("/redoc").status_code == 404


def test_health_and_metrics_say_nothing_of_who_uses_the_server(api):
    add(api, "secret-name")
    assert api.get("/health/live").status_code == 200
    assert api.get("/health/ready").json() == {"status": "ready"}
    text = api.get("/metrics").text
    assert "tsim_requests_total" in text
    assert "secret-name" not in text


def test_limits_hold(tmp_path):
    limits = Limits(body=2_000, batch=2, page=2, rate=0.001, burst=8)
    with browsing(tmp_path / "memories", limits=limits) as api:
        answer = api.post("/v1/threads/a/turns", json={"turns": TALK})
        assert (answer.status_code, answer.json()["kind"]) == (413, "too_large")
        long = [{"role": "user", "text": "x" * 3_000}]
        answer = api.post("/v1/threads/a/turns", json={"turns": long})
        assert (answer.status_code, answer.json()["kind"]) == (413, "too_large")
        pieces = (b"x" * 1_000 for _ in range(10))
        answer = api.post("/v1/threads/a/turns", content=pieces)
        assert answer.status_code == 413
        add(api, turns=TALK[:2])
        add(api, turns=TALK[2:])
        page = api.get("/v1/threads/alice/turns").json()
        assert [turn["id"] for turn in page["turns"]] == [0, 1]
        statuses = [api.get("/v1/threads").status_code for _ in range(4)]
        assert statuses[-1] == 429
        assert api.get("/v1/threads").headers["retry-after"]
        assert api.get("/health/live").status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Host": "localhost:1"}, 200),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
def test_pages_of_other_sites_cannot_write(standing, headers, status):
    answer = standing.post(
        "/v1/namespaces/sites/threads/a/turns", json={"turns": TALK}, headers=headers
    )
    assert answer.status_code == status


def test_keys_reach_their_namespace_and_what_they_are_for(tmp_path):
    place = tmp_path / "memories"
    alice, bob = make_key(place, "alice"), make_key(place, "bob")
    reader = make_key(place, "alice", Scope.READ)
    anyone = make_key(place, None, Scope.READ, Scope.ADMIN)
    with served(place, keys=True) as url, httpx.Client(base_url=url) as api:
        assert api.get("/v1/threads").status_code == 401
        assert "WWW-Authenticate" in api.get("/v1/threads").headers
        add(api, "diary", headers=alice)
        assert api.get("/v1/threads/diary", headers=reader).status_code == 200
        refused = api.post("/v1/threads/x/turns", json={"turns": TALK}, headers=reader)
        assert (refused.status_code, refused.json()["kind"]) == (403, "no_access")
        for path in ("threads/diary/forget", "threads/diary"):
            method = "POST" if path.endswith("forget") else "DELETE"
            body = {"turns": [0]} if method == "POST" else None
            assert api.request(method, f"/v1/{path}", json=body, headers=reader).status_code == 403
        assert api.get("/v1/backup", headers=reader).status_code == 403
        assert api.get("/v1/threads", headers=bob).json()["threads"] == []
        assert api.get("/v1/namespaces/alice/threads", headers=bob).status_code == 403
        assert api.get("/v1/namespaces/none/threads", headers=bob).status_code == 403
        assert api.get("/v1/namespaces/alice/threads", headers=anyone).json()["threads"]
        assert api.get("/metrics", headers=bob).status_code == 403
        assert api.get("/metrics", headers=anyone).status_code == 200
        assert api.get("/metrics").status_code == 401
        assert api.get("/health/live").status_code == 200


def test_a_server_without_keys_is_locked_by_the_first_one(tmp_path):
    with browsing(tmp_path / "memories") as api:
        add(api)
        key = make_key(tmp_path / "memories", "default")
        assert api.get("/v1/threads").status_code == 401
        assert api.get("/v1/threads", headers=key).status_code == 200
        with Access(Settings(place=tmp_path / "memories").access) as access:
            access.revoke(access.keys()[0].id)
        assert api.get("/v1/threads").status_code == 401


def test_a_key_for_all_namespaces_has_to_name_one(tmp_path):
    place = tmp_path / "memories"
    key = make_key(place, None)
    with served(place, keys=True) as url, httpx.Client(base_url=url, headers=key) as api:
        refused = api.post("/v1/threads/a/turns", json={"turns": TALK})
        assert (refused.status_code, refused.json()["kind"]) == (400, "bad_input")
        assert "/v1/namespaces/NAME" in refused.json()["detail"]
        named = api.post("/v1/namespaces/alice/threads/a/turns", json={"turns": TALK})
        assert named.status_code == 200
        assert api.post("/mcp", json={}).status_code == 400
        assert api.get("/metrics").status_code == 200
    assert {path.name for path in place.glob("*.db")} == {"alice.db"}


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({"content": b"{,", "headers": {"Content-Type": "application/json"}}, "is not JSON"),
        ({"content": b'{"turns": []}'}, "Content-Type: application/json"),
        ({"json": [1]}, "Content-Type: application/json"),
        ({"json": {"turns": TALK, "thread": "x"}}, "body.thread: this request has no such field"),
    ],
)
def test_what_is_wrong_with_a_body_is_said_in_words(standing, sent, words):
    assert words in standing.post("/v1/threads/a/turns", **sent).json()["detail"]


def test_a_revoked_key_ends_at_once(tmp_path):
    place = tmp_path / "memories"
    key = make_key(place, "alice")
    with served(place, keys=True) as url, httpx.Client(base_url=url, headers=key) as api:
        assert api.get("/v1/threads").status_code == 200
        with Access(Settings(place=place).access) as access:
            access.revoke(access.keys()[0].id)
        assert api.get("/v1/threads").status_code == 401


def test_keys_are_nowhere_in_the_files(tmp_path):
    place = tmp_path / "memories"
    key = make_key(place, "alice")["Authorization"].removeprefix("Bearer ")
    secret = key.rpartition("_")[2]
    with served(place, keys=True) as url:
        httpx.get(f"{url}/v1/threads", headers={"Authorization": f"Bearer {key}"})
    assert not any(secret.encode() in path.read_bytes() for path in place.iterdir())
    with sqlite3.connect(place / "access.sqlite") as connection:
        dump = "\n".join(connection.iterdump())
    assert "$argon2id$" in dump
