"""Several processes as one server: what they share, and what happens when one of them dies."""

import html
import os
import re
import select
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.support.hashes import Hashes
from tests.support.mcp_calls import called
from tests.support.served import make_key
from tests.support.server_process import BROKEN, PROCESS, SLOW, Serving, serving
from tsim import Memory
from tsim.errors import KeyMissingError, TooManyError
from tsim.server.access.failures import Failures
from tsim.server.access.gate import Access
from tsim.server.processes import Shared
from tsim.server.processes.rates import BUCKET, WAYS, SharedRates
from tsim.server.settings import Limits, Settings

PATIENCE = 30
RULE = "New projects run on one consumer GPU."


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A server of two processes, without keys."""
    with serving(tmp_path_factory.mktemp("pair"), processes=2) as server:
        yield server


@pytest.fixture
def both(pair: Serving) -> Iterator[list[httpx.Client]]:
    """Clients of different processes."""
    with pair.clients(2) as clients:
        yield clients


def add(client: httpx.Client, thread: str, *texts: str) -> None:
    turns = [{"role": "user", "text": text} for text in texts]
    client.post(f"/v1/threads/{thread}/turns", json={"turns": turns}).raise_for_status()


def test_what_one_process_adds_the_other_finds(both: list[httpx.Client]) -> None:
    for n, (writer, reader) in enumerate([both, both[::-1], both, both[::-1]]):
        add(writer, "read your writes", f"The code of door {n} is {n * 1111}.")
        found = reader.post(
            "/v1/threads/read your writes/search", json={"query": f"code of door {n}"}
        )
        assert f"is {n * 1111}." in found.text
        assert writer.get("/v1/threads/read your writes").json()["turns"] == n + 1
    answered = {one.get("/health/live").headers[PROCESS] for one in both}
    assert len(answered) == 2


def test_a_namespace_that_several_begin_at_once_is_one(both: list[httpx.Client]) -> None:
    def begin(n: int) -> None:
        address = f"/v1/namespaces/new{n % 3}/threads/a/turns"
        turns = [{"role": "user", "text": f"turn {n}", "id": str(n)}]
        both[n % 2].post(address, json={"turns": turns}).raise_for_status()

    with ThreadPoolExecutor(6) as crowd:
        [*crowd.map(begin, range(24))]
    for name in range(3):
        for client in both:
            kept = client.get(f"/v1/namespaces/new{name}/threads/a/turns").json()["turns"]
            expected = {str(n) for n in range(24) if n % 3 == name}
            assert {turn["external_id"] for turn in kept} == expected
            assert len(kept) == len(expected)


def counted(client: httpx.Client, name: str, **labels: str) -> float:
    """The sum of a figure."""
    return sum(
        sample.value
        for family in text_string_to_metric_families(client.get("/metrics").text)
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    )


def test_figures_are_of_all_processes_whichever_is_asked(both: list[httpx.Client]) -> None:
    add(both[0], "figures", RULE)
    for n in range(5):
        both[n % 2].get("/v1/threads/figures/recent").raise_for_status()
    for client in both:
        route = {"route": "/threads/{thread}/recent"}
        assert counted(client, "tsim_requests_total", **route, status="200") == 5
        assert counted(client, "tsim_request_seconds_count", **route) == 5
        assert counted(client, "tsim_requests_running") == 1  # the one that asks
        assert counted(client, "tsim_turns_in_ram") > 0


def test_an_assistant_may_confirm_to_another_process(both: list[httpx.Client]) -> None:
    called(both[0], "remember", text=RULE, thread="assistant")
    preview = called(both[1], "forget", turns=[0], thread="assistant")
    gone = called(both[0], "forget", turns=[0], thread="assistant", confirm=preview["confirm"])
    assert gone["forgotten"]
    assert called(both[1], "recent", thread="assistant")["total"] == 0


def test_a_form_of_the_inspector_may_go_to_another_process(
    pair: Serving, both: list[httpx.Client]
) -> None:
    add(both[0], "inspected", RULE, "something else")
    page = both[0].get("/inspector/forget", params={"thread": "inspected", "turns": "0"})
    (form,) = re.findall(r'<form class="decide".*?</form>', page.text, re.S)
    named = re.findall(r'name="(\w+)" value="([^"]*)"', form)
    fields = {name: html.unescape(value) for name, value in named}
    here = {"Origin": pair.url, "Sec-Fetch-Site": "same-origin"}
    sent = both[1].post("/inspector/forget", data=fields, headers=here)
    assert sent.status_code == 303
    receipt = both[0].get(sent.headers["location"])
    assert receipt.status_code == 200
    assert "too old" not in receipt.text
    assert both[0].get("/v1/threads/inspected").json()["turns"] == 1


def test_a_key_ends_at_once_in_all_processes_which_count_its_requests_together(
    tmp_path: Path,
) -> None:
    headers = make_key(tmp_path, "default")
    limits = {"rate": 0.001, "burst": 6}
    with serving(tmp_path, limits, processes=2, keys=True) as server, server.clients(2) as both:
        found = [one.get("/v1/threads", headers=headers).status_code for one in both]
        assert found == [200, 200]
        with Access(Settings(place=tmp_path).access) as access:
            (key,) = access.keys()
            access.revoke(key.id)
        found = [one.get("/v1/threads", headers=headers).status_code for one in both]
        assert found == [401, 401]
        # Six requests with this key, whichever process gets them.
        more = [one.get("/v1/threads", headers=headers) for one in (*both, *both)]
        assert [one.status_code for one in more] == [401, 401, 429, 429]
        assert more[-1].headers["retry-after"] == "1"


@contextmanager
def ended(*processes: str) -> Iterator[None]:
    """Waits until processes that are not ours have ended."""
    found = [os.pidfd_open(int(one)) for one in processes]
    yield
    for one in found:
        assert select.select([one], [], [], PATIENCE)[0]
        os.close(one)


def test_a_process_that_is_killed_loses_nothing_and_is_replaced(tmp_path: Path) -> None:
    acknowledged: list[tuple[str, str]] = []
    enough, stop = threading.Event(), threading.Event()

    def write(server: Serving, writer: int) -> None:
        n = 0
        while not stop.is_set():
            with server.client() as client, suppress(httpx.TransportError):
                while not stop.is_set():
                    n += 1
                    name, key = f"thread {n % 3}", f"{writer}-{n}"
                    turn = {"role": "user", "text": f"{writer} says {n}", "id": key}
                    sent = client.post(f"/v1/threads/{name}/turns", json={"turns": [turn]})
                    sent.raise_for_status()
                    acknowledged.append((name, key))
                    if len(acknowledged) > 60:
                        enough.set()

    with serving(tmp_path, processes=2) as server, ThreadPoolExecutor(4) as crowd:
        try:
            with server.clients(2) as both:
                before = {one.get("/health/live").headers[PROCESS] for one in both}
            written = [crowd.submit(write, server, n) for n in range(4)]
            assert enough.wait(PATIENCE)
            killed = min(before)
            with ended(killed):
                os.kill(int(killed), signal.SIGKILL)
            count = len(acknowledged)
            with server.clients(2) as both:
                after = {one.get("/health/live").headers[PROCESS] for one in both}
            while len(acknowledged) < count + 20:
                time.sleep(0.01)
        finally:
            stop.set()
        for one in written:
            one.result()
        assert killed not in after
        assert len(after) == 2
        # Nobody would end or replace what goes on without the process that started it.
        with ended(*after):
            server.process.kill()
    with Memory.open(tmp_path / "default.db", model=Hashes()) as memory:
        assert memory.verify().problems == ()
        kept = [
            (name, turn.external_id) for name in memory.threads() for turn in memory.thread(name)
        ]
    assert len(kept) == len({*kept})
    assert {*acknowledged} <= {*kept}


def test_all_processes_finish_what_they_have_begun(tmp_path: Path) -> None:
    with serving(tmp_path, processes=2) as server, server.clients(2) as both:
        add(both[0], "a", RULE)
        for one in both:
            one.post("/v1/threads/a/search", json={"query": "rule"}).raise_for_status()
        with ThreadPoolExecutor(2) as crowd:
            asked = [
                crowd.submit(one.post, "/v1/threads/a/search", json={"query": SLOW}) for one in both
            ]
            for _ in both:
                assert server.process.stdout is not None
                assert server.process.stdout.readline() == f"{SLOW}\n"
            server.process.send_signal(signal.SIGINT)
            with pytest.raises(httpx.TransportError):
                for _ in range(100 * PATIENCE):
                    httpx.get(f"{server.url}/health/live")
                    time.sleep(0.01)
            assert [one.result(PATIENCE).status_code for one in asked] == [200, 200]
        assert server.process.wait(PATIENCE) == 0


def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    (tmp_path / BROKEN).touch()
    with serving(tmp_path, processes=2, errors=subprocess.PIPE) as server:
        _, words = server.process.communicate(timeout=PATIENCE)
        assert server.process.returncode == 1
        assert "the place is broken" in words


def test_a_server_whose_processes_cannot_be_replaced_ends_and_says_why(tmp_path: Path) -> None:
    with serving(tmp_path, processes=2, errors=subprocess.PIPE) as server:
        (tmp_path / BROKEN).touch()
        with server.client() as client:
            os.kill(int(client.get("/health/live").headers[PROCESS]), signal.SIGKILL)
        _, words = server.process.communicate(timeout=PATIENCE)
        assert server.process.returncode == 1
        assert "a worker ended (signal 9); starting another" in words
        assert words.rstrip().endswith("the place is broken")


def test_bounds_are_of_all_processes_together() -> None:
    whole = Limits()
    one = whole.among(3)
    assert (one.resident, one.workers, one.connections) == (83_334, 3, 342)
    assert (one.rate, one.body, one.batch) == (whole.rate, whole.body, whole.batch)
    assert whole.among(1) == whole
    assert whole.among(1_000).workers == 1


def test_buckets_in_a_file_are_those_of_everybody(tmp_path: Path) -> None:
    now = [100.0]
    one, other = (
        SharedRates(tmp_path / "rates", rate=2, burst=3, clock=lambda: now[0]) for _ in range(2)
    )
    assert [each.take("a") for each in (one, other, one, other)] == [True, True, True, False]
    assert other.take("b")
    now[0] += 1
    assert [each.take("a") for each in (one, other, one)] == [True, True, False]
    one.give_back("a")
    assert other.take("a")
    assert not one.take("a")
    now[0] += 1_000
    assert [each.take("a") for each in (one, other, one, other)] == [True, True, True, False]


def test_wrong_keys_are_counted_together(tmp_path: Path) -> None:
    shared = Shared(processes=2, directory=tmp_path)
    with ExitStack() as stack:
        both = [
            stack.enter_context(
                Access(tmp_path / "access.sqlite", failures=Failures(shared.rates("keys", 0, 3)))
            )
            for _ in range(2)
        ]
        for one in (*both, both[0]):
            with pytest.raises(KeyMissingError):
                one.admit("tsim_wrong")
        for one in both:
            with pytest.raises(TooManyError):
                one.admit("tsim_wrong")


def test_more_senders_than_buckets_drop_the_least_recently_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr("tsim.server.processes.rates.GROUPS", 1)
    rates = SharedRates(tmp_path / "rates", rate=0, burst=1, clock=lambda: now[0])
    for n in range(WAYS + 1):
        assert rates.take(n)
        now[0] += 1
    assert not rates.take(1)
    assert rates.take(0)
    assert (tmp_path / "rates").stat().st_size == WAYS * BUCKET.size
