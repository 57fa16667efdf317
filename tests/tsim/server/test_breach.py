"""What an attacker may try: with no key, with a key of their own, or with a page in a browser."""

import json
import logging
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.support.hashes import Hashes
from tests.support.served import browsing, make_key, served
from tsim import Memory, MismatchError, RemoteError, ThreadMissingError
from tsim.server import problems
from tsim.server.access import Scope
from tsim.server.access.gate import Access
from tsim.server.namespaces import Namespaces
from tsim.server.settings import Limits, Settings

SAID = {"turns": [{"role": "user", "text": "The violin is in the harbour.", "id": "m1"}]}

JSON = {"Content-Type": "application/json"}


class Other(Hashes):
    identity = "test/other"


@pytest.fixture
def api(tmp_path):
    with browsing(tmp_path / "memories") as client:
        yield client


@pytest.fixture(scope="module")
def standing(tmp_path_factory):
    with browsing(tmp_path_factory.mktemp("breach") / "memories") as client:
        client.post("/v1/threads/alice/turns", json=SAID)
        yield client


@pytest.mark.parametrize("path", ["memory", "export", "threads", "threads/x", "export?thread=x"])
def test_a_request_that_any_page_can_send_creates_nothing(api, tmp_path, path):
    before = {*(tmp_path / "memories").iterdir()}
    answer = api.get(f"/v1/namespaces/nobody/{path}")
    assert answer.status_code in (200, 404)
    made = {one.name for one in {*(tmp_path / "memories").iterdir()} - before}
    assert made <= {"access.sqlite-shm", "access.sqlite-wal"}


def test_an_export_of_nothing_can_be_imported(api):
    export = api.get("/v1/namespaces/nobody/export").content
    assert api.post("/v1/namespaces/other/import", content=export).json() == {"turns": 0}
    assert api.get("/v1/namespaces/nobody/memory").json()["preset"] == "late"


def test_names_that_are_only_asked_for_are_not_kept(tmp_path):
    spaces = Namespaces(Settings(place=tmp_path, keys=False), Hashes())
    for number in range(50):
        with pytest.raises(ThreadMissingError), spaces.using(f"n{number}"):
            pass
    sizes = [len(value) for value in vars(spaces).values() if isinstance(value, dict)]
    assert not any(sizes)


def test_errors_do_not_say_where_memories_are(api, tmp_path):
    api.post("/v1/threads/alice/turns", json=SAID)
    export = api.get("/v1/export").content
    for body in (export, b"", b"\xff\n", export[:-20]):
        answer = api.post("/v1/import", content=body)
        assert answer.status_code == 400
        detail = answer.json()["detail"]
        assert str(tmp_path) not in detail
        assert not detail[0].isdigit(), detail  # nor by which number an upload is kept


def test_a_memory_of_another_model_is_reported_without_its_place(tmp_path):
    first = Namespaces(Settings(place=tmp_path, keys=False), Hashes())
    with first.using("alice", create=True) as memory:
        memory.thread("a").add("user", "hello")
    first.close()
    other = Namespaces(Settings(place=tmp_path, keys=False), Other())
    with pytest.raises(MismatchError) as raised, other.using("alice"):
        pass
    assert str(tmp_path) not in problems.detail(raised.value)


def test_an_embedding_server_is_not_named():
    error = RemoteError("http://10.0.0.7:9000/v1 returned 'the text of somebody else'")
    told = problems.detail(error)
    assert "10.0.0.7" not in told
    assert "somebody" not in told


def test_the_log_of_failures_has_nothing_from_the_address(tmp_path, caplog, monkeypatch):
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Namespaces, "using", fail)
    with browsing(tmp_path / "memories") as api, caplog.at_level(logging.ERROR, "tsim.server"):
        assert api.get("/v1/threads/alice%1b%5b2J/turns").status_code == 500
    told = [one.getMessage() for one in caplog.records if one.name == "tsim.server"]
    assert told == ["a request failed (GET)"]


def test_a_line_of_the_audit_log_cannot_fill_the_disk(tmp_path):
    place = tmp_path / "memories"
    with browsing(place) as api:
        api.post("/v1/threads/alice/turns", json=SAID)
        api.post("/v1/threads/alice/forget", json={"turns": [*range(15_000)]})
        api.get("/v1/export?" + "thread=alice&" * 4_000)
    with Access(place / "access.sqlite") as access:
        lines = access.audit()
    assert [line.action for line in lines] == ["forget", "export"]
    assert lines[0].about["turns"][-1] == "… 14000 more"
    assert all(len(json.dumps(line.about)) < 20_000 for line in lines)


def test_many_threads_in_an_import_take_no_longer_than_their_lines(api):
    head = api.get("/v1/export").content.splitlines(keepends=True)[0]
    numbers = {"next_turn": 0, "next_episode": 0, "next_cluster": 0}
    lines = [head]
    lines += [
        json.dumps({"kind": "thread", "name": f"t{number}", **numbers}).encode() + b"\n"
        for number in range(20_000)
    ]
    lines.append(lines[-1])
    answer = api.post("/v1/import", content=b"".join(lines))
    assert "'t19999' occurs twice" in answer.json()["detail"]


@pytest.mark.parametrize("chunked", [False, True])
def test_nobody_without_a_key_has_a_large_body_read(tmp_path, chunked):
    body = b"[" * 20_000
    content = iter([body]) if chunked else body
    with served(tmp_path / "memories", keys=True) as url:
        # Whoever reads it finds that it is no JSON.
        for path in ("threads/a/turns", "threads/a/search", "context", "threads/a/forget"):
            answer = httpx.post(f"{url}/v1/{path}", content=content, headers=JSON)
            assert answer.status_code == 401


@pytest.mark.parametrize(
    "body",
    [
        {"query": "x" * 20_000},
        {"query": "x", "threads": [f"t{number}" for number in range(300)]},
        {"query": "x", "roles": ["user"] * 300},
        {"query": "x", "meta": {str(number): 1 for number in range(100)}},
        {"query": "x", **{str(number): 1 for number in range(100)}},
        {"query": "x", "roles": [[]] * 100},
    ],
)
def test_questions_are_bounded(standing, body):
    answer = standing.post("/v1/context", json={"threads": ["alice"], **body})
    assert answer.status_code == 400
    assert len(answer.content) < 1_000


def test_turns_to_forget_are_bounded(standing):
    body = {"turns": [*range(30_000)]}
    for path in ("forget", "forget/preview"):
        answer = standing.post(f"/v1/threads/alice/{path}", json=body)
        assert "at most 20000" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("site", "dest", "status"),
    [
        ("cross-site", "image", 403),
        ("cross-site", "empty", 403),
        ("same-site", "script", 403),
        ("cross-site", "iframe", 403),
        ("cross-site", "document", 200),
        ("same-origin", "empty", 200),
        ("none", "document", 200),
    ],
)
def test_pages_of_other_sites_cannot_have_anything_read(standing, site, dest, status):
    headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Dest": dest}
    for path in ("/v1/threads", "/v1/export", "/inspector"):
        answer = standing.get(path, headers=headers)
        assert answer.status_code == status
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"


def test_keys_show_only_what_they_are_for(tmp_path):
    place = tmp_path / "memories"
    with served(place, keys=True) as url:
        bob, everybody = make_key(place, "bob"), make_key(place, None)
        httpx.post(f"{url}/v1/threads/alice/turns", json=SAID, headers=bob)
        assert httpx.get(f"{url}/metrics", headers=bob).status_code == 403
        assert httpx.get(f"{url}/metrics", headers=everybody).status_code == 200
        erasing = make_key(place, "bob", Scope.FORGET)
        answer = httpx.get(f"{url}/inspector/forget?thread=alice&turns=0", headers=erasing)
        assert (answer.status_code, "violin" in answer.text) == (403, False)


@pytest.mark.parametrize(("scheme", "secure"), [("http", False), ("https", True)])
def test_the_key_in_a_cookie_is_for_the_inspector_alone(tmp_path, scheme, secure):
    place = tmp_path / "memories"
    with served(place, keys=True) as url:
        key = make_key(place, "bob")["Authorization"].removeprefix("Bearer ")
        origin = {"Origin": url.replace("http", scheme)}
        answer = httpx.post(f"{url}/inspector/login", data={"key": key}, headers=origin)
    parts = {part.strip().lower() for part in answer.headers["set-cookie"].split(";")}
    assert {"path=/inspector", "httponly", "samesite=strict"} <= parts
    assert ("secure" in parts) == secure


def test_nobody_gets_all_workers(tmp_path, monkeypatch):
    place = tmp_path / "memories"
    going, stuck = threading.Event(), threading.Semaphore(0)
    listed = Memory.threads

    def slow(memory: Memory) -> list[str]:
        if "greedy" in memory._store.location:
            stuck.release()
            going.wait(30)
        return listed(memory)

    with served(place, keys=True, limits=Limits(workers=4)) as url, ThreadPoolExecutor(8) as pool:
        greedy, bob = make_key(place, "greedy"), make_key(place, "bob")
        for key in (greedy, bob):
            httpx.post(f"{url}/v1/threads/a/turns", json=SAID, headers=key)
        monkeypatch.setattr(Memory, "threads", slow)
        asked = [pool.submit(httpx.get, f"{url}/v1/threads", headers=greedy) for _ in range(8)]
        try:
            assert all(stuck.acquire(timeout=10) for _ in range(3))
            assert httpx.get(f"{url}/v1/threads", headers=bob, timeout=10).status_code == 200
        finally:
            going.set()
        assert {one.result().status_code for one in asked} == {200}
