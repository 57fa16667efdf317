"""A server that stands in for a model, a proxy before it, and what the proxy remembers."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import httpx
import pytest

from tests.support.hashes import Hashes
from tests.support.proxied import proxied
from tests.support.served import SECONDS
from tests.support.upstream import Upstream, upstream
from tsim import Memory, Turn


@pytest.fixture(scope="session")
def running() -> Iterator[Upstream]:
    with upstream() as found:
        yield found


@pytest.fixture
def model(running: Upstream) -> Upstream:
    """The server, of which nothing was asked yet."""
    running.reset()
    return running


@pytest.fixture(scope="session")
def shared(running: Upstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator["Talking"]:
    place = tmp_path_factory.mktemp("shared")
    with proxied(place, running.url) as url:
        yield Talking(url, place)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "memories"


class Talking:
    """A program that talks to a proxy."""

    def __init__(self, url: str, place: Path, key: str = "sk-alice") -> None:
        self.url = url
        self.place = place
        self.client = httpx.Client(base_url=url, timeout=SECONDS, verify=False)
        self.key = {"Authorization": f"Bearer {key}"}
        self.client.headers.update(self.key)

    def ask(self, messages: list[dict[str, Any]], **more: Any) -> httpx.Response:
        headers = more.pop("headers", {})
        body = {"model": "echo", "messages": messages, **more}
        return self.client.post("/chat/completions", json=body, headers=headers)

    def learnt(self, messages: list[dict[str, Any]], **more: Any) -> httpx.Response:
        """Asks until older messages need not be sent any more."""
        return until(lambda: self.ask(messages, **more), lambda r: did(r) == "recalled")

    def thread(self, **more: Any) -> str:
        """The name of the thread that the program's requests continue."""
        found = self.ask([{"role": "user", "content": "?"}], headers={**more}, model="429")
        return unquote(found.headers["x-tsim-thread"])

    def turns(self, thread: str | None = None) -> list[Turn]:
        """What is remembered."""
        name = thread or self.thread()
        if not (self.place / "default.db").exists():
            return []
        with Memory.open(self.place / "default.db", model=Hashes()) as memory:
            found = memory.thread(name)
            return found.turns() if len(found) else []

    def kept(self, count: int, thread: str | None = None) -> list[Turn]:
        """What is remembered, as soon as it is so many turns."""
        found: list[Turn] = until(lambda: self.turns(thread), lambda turns: len(turns) >= count)
        assert len(found) == count
        return found


def did(response: httpx.Response) -> str:
    return response.headers["x-tsim-memory"]


def until(make: Callable[[], Any], enough: Callable[[Any], bool]) -> Any:
    """Tries again until something is as it should be, which takes a moment."""
    last = time.monotonic() + SECONDS
    while not enough(found := make()):
        assert time.monotonic() < last, found
        time.sleep(0.02)
    return found


@pytest.fixture
def talking(shared: Talking, model: Upstream, request: pytest.FixtureRequest) -> Iterator[Talking]:
    """A program that nobody has heard of yet."""
    with program(shared.url, shared.place, request.node.name) as found:
        yield found


@contextmanager
def program(url: str, place: Path, key: str = "sk-alice") -> Iterator[Talking]:
    """A program, until its connections are closed."""
    found = Talking(url, place, quote(key))
    with found.client:
        yield found
