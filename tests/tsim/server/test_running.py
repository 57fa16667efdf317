"""Servers as processes: killed, stopped, and with clients that are slow, many or greedy."""

import json
import resource
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import httpx
import pytest

from tests.support.hashes import Hashes
from tests.support.server_process import SLOW, Serving, serving
from tsim import Memory
from tsim.server.running import listen
from tsim.server.settings import Settings

HOST = "Host: 127.0.0.1\r\n"
# Longer than anything here takes, unless it never ends.
PATIENCE = 20
FEW_FILES = 64
# Turns of 900 kB.
BIG = 3
BOUNDS = {
    "body": 1 << 20,
    "bodies": 4 << 20,
    "connections": 100,
    "header_seconds": 0.5,
    "body_seconds": 0.5,
    "send_seconds": 0.5,
    "rate": 1e6,
    "burst": 10**6,
}


def few_files() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (FEW_FILES, most))


@pytest.fixture(scope="module")
def bounded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """Is impatient, takes small bodies, and has a thread whose turns fill every buffer."""
    with serving(tmp_path_factory.mktemp("bounded"), BOUNDS, few_files) as server:
        with server.client() as client:
            for n in range(BIG):
                turns = [{"role": "user", "text": f"{n}" * 900_000}]
                client.post("/v1/threads/big/turns", json={"turns": turns}).raise_for_status()
        yield server


@pytest.fixture
def connected(bounded: Serving) -> Iterator[socket.socket]:
    """A connection that takes little at a time."""
    with socket.socket() as raw:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.settimeout(PATIENCE)
        raw.connect(("127.0.0.1", bounded.port))
        yield raw


def lives(server: Serving) -> None:
    """Somebody else is answered."""
    with server.client() as client:
        assert client.get("/v1/threads/big").json() == {"name": "big", "turns": BIG}


def answer(raw: socket.socket) -> tuple[int, str]:
    """Reads an answer until its connection is closed; returns its status and all of it."""
    found = b""
    with suppress(ConnectionError):
        while piece := raw.recv(65536):
            found += piece
            head, _, body = found.partition(b"\r\n\r\n")
            length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
            if length and len(body) >= int(length):
                break
    return int(found.split()[1]) if found else 0, found.decode()


def send_until_answered(raw: socket.socket, piece: bytes, most: int, pause: float = 0) -> int:
    """Sends pieces until there is an answer, or none is taken any more; returns their number."""
    sent = 0
    with suppress(ConnectionError):
        while sent < most and not select.select([raw], [], [], pause)[0]:
            raw.sendall(piece)
            sent += 1
    return sent


def cut_off(raw: socket.socket) -> bool:
    """Returns whether the other side ends the connection, without reading what it sent."""
    poll = select.poll()
    poll.register(raw, 0)
    return bool(poll.poll(1000 * PATIENCE))


def test_kill_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    acknowledged: list[tuple[str, str]] = []
    enough = threading.Event()

    def write(server: Serving, writer: int) -> None:
        with server.client() as client, suppress(httpx.TransportError):
            for n in range(10_000):
                name, key = f"thread {n % 3}", f"{writer}-{n}"
                turn = {"role": "user", "text": f"{writer} says {n}", "id": key}
                client.post(f"/v1/threads/{name}/turns", json={"turns": [turn]}).raise_for_status()
                acknowledged.append((name, key))
                if len(acknowledged) > 100:
                    enough.set()

    with serving(tmp_path) as server, ThreadPoolExecutor(6) as crowd:
        written = [crowd.submit(write, server, n) for n in range(6)]
        assert enough.wait(PATIENCE)
        server.process.kill()
        for one in written:
            one.result()
    with serving(tmp_path) as server:
        with server.client() as client:
            kept = {
                (name, turn["external_id"])
                for name in {name for name, _ in acknowledged}
                for turn in client.get(f"/v1/threads/{name}/turns?limit=1000").json()["turns"]
            }
        assert {*acknowledged} <= kept
        server.process.terminate()
        assert server.process.wait(PATIENCE) == 0
    with Memory.open(tmp_path / "default.db", model=Hashes()) as memory:
        assert memory.verify().problems == ()


def test_a_server_that_is_busy_refuses_some_and_finishes_the_others(tmp_path: Path) -> None:
    limits = {"workers": 1, "waiting": 1, "rate": 0.001, "burst": 20}
    with serving(tmp_path, limits) as server, server.client() as client:
        turn = {"role": "user", "text": "Rules are rules."}
        client.post("/v1/threads/a/turns", json={"turns": [turn]}).raise_for_status()

        def search() -> httpx.Response:
            with server.client() as own:
                return own.post("/v1/threads/a/search", json={"query": SLOW})

        with ThreadPoolExecutor(5) as crowd:
            first = crowd.submit(search)
            assert server.process.stdout.readline() == f"{SLOW}\n"
            others = [crowd.submit(search) for _ in range(4)]
            refused = {other for other in others if other.result(PATIENCE).status_code == 503}
            assert len(refused) == 3, [other.result().text for other in others]
            for other in refused:
                assert other.result().headers["retry-after"] == "1"
                assert other.result().json()["kind"] == "over_limit"
            assert first.result().status_code == 200

            first = crowd.submit(search)
            assert server.process.stdout.readline() == f"{SLOW}\n"
            assert server.process.stdout.readline() == f"{SLOW}\n"
            server.process.terminate()
            with pytest.raises(httpx.TransportError):
                for _ in range(100 * PATIENCE):
                    httpx.get(f"{server.url}/health/live")
                    time.sleep(0.01)
            assert first.result(PATIENCE).status_code == 200
        assert server.process.wait(PATIENCE) == 0


def test_a_client_that_asks_too_often_is_told_to_wait(tmp_path: Path) -> None:
    with serving(tmp_path, {"rate": 0.001, "burst": 3}) as server, server.client() as client:
        found = [client.get("/v1/threads") for _ in range(4)]
        assert [one.status_code for one in found] == [200, 200, 200, 429]
        assert found[-1].headers["retry-after"] == "1"
        assert client.get("/health/live").status_code == 200
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(PATIENCE) == 0


def test_headers_that_dribble_are_cut_off(bounded: Serving, connected: socket.socket) -> None:
    connected.sendall(f"GET /v1/threads HTTP/1.1\r\n{HOST}X-Slow: ".encode())
    lives(bounded)
    assert send_until_answered(connected, b"x", 1000, pause=0.05) < 1000
    assert answer(connected) == (0, "")
    lives(bounded)


@pytest.mark.parametrize("first", [b"", b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"])
def test_headers_without_end_are_cut_off(
    bounded: Serving, connected: socket.socket, first: bytes
) -> None:
    before = bounded.resident()
    connected.sendall(first + b"GET / HTTP/1.1\r\nX: ")
    with suppress(ConnectionError):
        for _ in range(2000):
            connected.sendall(b"x" * 65536)
        pytest.fail("all of it was taken")
    assert bounded.resident() - before < 32 << 20


def test_trailers_without_end_are_cut_off(bounded: Serving, connected: socket.socket) -> None:
    before = bounded.resident()
    head = f"POST /v1/threads/a/search HTTP/1.1\r\n{HOST}Transfer-Encoding: chunked\r\n\r\n"
    connected.sendall(head.encode() + b"1\r\n{\r\n0\r\n")
    with suppress(ConnectionError):
        for n in range(2000):
            connected.sendall(b"X-%d: " % n + b"x" * 65536 + b"\r\n")
        pytest.fail("all of it was taken")
    assert bounded.resident() - before < 32 << 20


@pytest.mark.parametrize("piece", [b"", b" "], ids=["stopped", "dribbling"])
def test_bodies_that_do_not_come_are_refused(
    bounded: Serving, connected: socket.socket, piece: bytes
) -> None:
    head = f"POST /v1/threads/a/search HTTP/1.1\r\n{HOST}Content-Length: 5000\r\n\r\n"
    connected.sendall(head.encode() + b'{"query":')
    lives(bounded)
    assert send_until_answered(connected, piece, 1000, pause=0.05) < 1000
    status, text = answer(connected)
    assert (status, "too_slow" in text) == (408, True), text


def test_answers_that_are_not_read_are_cut_off(bounded: Serving, connected: socket.socket) -> None:
    connected.sendall(f"GET /v1/export HTTP/1.1\r\n{HOST}\r\n".encode())
    lives(bounded)
    assert cut_off(connected)


def test_another_request_does_not_excuse_reading_nothing(
    bounded: Serving, connected: socket.socket
) -> None:
    request = f"GET /v1/threads/big/turns HTTP/1.1\r\n{HOST}\r\n".encode()
    connected.sendall(request)
    time.sleep(0.2)
    connected.sendall(request)
    assert cut_off(connected)


@pytest.mark.parametrize("chunked", [False, True], ids=["declared", "chunked"])
@pytest.mark.parametrize("path", ["/v1/threads/a/turns", "/v1/search"])
def test_huge_bodies_are_refused(
    bounded: Serving, connected: socket.socket, path: str, chunked: bool
) -> None:
    before = bounded.resident()
    how = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {1 << 34}"
    connected.sendall(f"POST {path} HTTP/1.1\r\n{HOST}{how}\r\n\r\n".encode())
    piece = b"x" * (1 << 20)
    send_until_answered(connected, b"100000\r\n" + piece + b"\r\n" if chunked else piece, 200)
    status, text = answer(connected)
    assert (status, json.loads(text.partition("\r\n\r\n")[2])["kind"]) == (413, "too_large")
    assert bounded.resident() - before < 32 << 20


def test_large_bodies_are_refused_if_there_are_many(bounded: Serving) -> None:
    head = f"POST /v1/threads/a/turns HTTP/1.1\r\n{HOST}Content-Length: {1 << 20}\r\n\r\n"
    with ExitStack() as stack:
        many = []
        for _ in range(5):
            raw = stack.enter_context(socket.create_connection(("127.0.0.1", bounded.port)))
            raw.settimeout(PATIENCE)
            raw.sendall(head.encode() + b" " * ((1 << 20) - 1))
            many.append(raw)
        ready, _, _ = select.select(many, [], [], PATIENCE)
        status, text = answer(ready[0])
    assert (status, "retry-after: 1" in text.lower()) == (503, True), text
    lives(bounded)


def test_more_connections_than_it_takes_are_refused(bounded: Serving) -> None:
    with ExitStack() as stack:
        many = [stack.enter_context(bounded.client()) for _ in range(100)]
        assert {one.get("/health/live").status_code for one in many} == {200}
        with bounded.client() as late:
            refused = late.get("/health/live")
            assert refused.status_code == 503
            assert refused.headers["retry-after"] == "1"
            assert refused.json()["kind"] == "over_limit"
        many[0].close()
        lives(bounded)


def run(*arguments: str) -> tuple[int, str]:
    command = [sys.executable, "-c", "from tsim.cli.app import main; main()", *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    return ran.returncode, ran.stderr


def test_others_are_served_with_keys_only(tmp_path: Path) -> None:
    code, words = run("serve", "--at", str(tmp_path / "place"), "--host", "0.0.0.0")
    assert code == 1
    assert "there is no valid key" in words.replace("\n", " ")


def test_answers_do_not_wait_to_be_acknowledged(tmp_path: Path) -> None:
    # asyncio sends at once only on sockets that name their protocol.
    with listen(Settings(place=tmp_path, port=0, keys=False)) as listening:
        assert listening.proto == socket.IPPROTO_TCP


def test_an_address_in_use_is_said_to_be(tmp_path: Path, tiny: Path) -> None:
    with closing(socket.socket()) as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        code, words = run(
            "serve", "--at", str(tmp_path / "place"), "--port", port, "--model", str(tiny)
        )
    assert code == 1
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in words.replace("\n", " ")
