"""Clients that send requests as fast as they are answered, in a process of their own.

Bare sockets and requests that were written beforehand: whoever measures a server on the same two
cores must not need them. A plan is read from standard input, the times go to standard output.
"""

import asyncio
import itertools
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

# Where a request has this, each time it is sent has a number of its own.
NUMBER = "@@"
# The share of the time that is not counted: connections are made, threads loaded.
WARMING = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A POST, and what its times are counted as."""

    kind: str
    path: str
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a crowd of clients sends."""

    port: int
    clients: int
    seconds: float
    requests: Sequence[Request]
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """What came of it: the milliseconds of every answer.

    Attributes:
        milliseconds: Of every answer that counts.
        seconds: The time in which they came.
        refused: Those that were no success.
        sent: All requests, also those before the time began to count.
        cpu: The milliseconds of CPU that the server needed for each; others do not change them.
    """

    milliseconds: Sequence[float]
    seconds: float
    refused: int = 0
    sent: int = 0
    cpu: float | None = None

    @property
    def rate(self) -> float:
        """Answers per second."""
        return len(self.milliseconds) / self.seconds

    def at(self, share: float) -> float:
        """Returns a quantile."""
        ordered = sorted(self.milliseconds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0

    def __str__(self) -> str:
        quantiles = "".join(f"{self.at(share):>9.1f}" for share in (0.5, 0.95, 0.99))
        cpu = f"{self.cpu:>9.2f}" if self.cpu is not None else f"{'':9}"
        refused = f"  {self.refused} refused" if self.refused else ""
        return f"{self.rate:>9.0f}{quantiles}{cpu}{refused}"


def send(plan: Plan) -> Times:
    """Lets another process send requests, and returns what came of it."""
    ran = subprocess.run(
        [sys.executable, __file__],
        input=json.dumps(asdict(plan)),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return Times(**json.loads(ran.stdout))


class _Crowd:
    def __init__(self, plan: dict[str, Any]) -> None:
        self._port: int = plan["port"]
        self._numbers = itertools.count()
        more = "".join(f"{name}: {value}\r\n" for name, value in plan["headers"].items())
        self._requests = [
            (
                f"POST {one['path']} HTTP/1.1\r\nHost: 127.0.0.1\r\n{more}"
                "Content-Type: application/json\r\n",
                one["body"],
            )
            for one in plan["requests"]
        ]
        now = time.perf_counter()
        self._counted = now + WARMING * plan["seconds"]
        self._until = now + (1 + WARMING) * plan["seconds"]
        self.seconds: float = plan["seconds"]
        self.times: list[float] = []
        self.refused = 0
        self.sent = 0

    def _following(self, first: int) -> Iterator[bytes]:
        for head, body in itertools.cycle(self._requests[first:] + self._requests[:first]):
            sent = body.replace(NUMBER, f"{next(self._numbers)}").encode()
            yield f"{head}Content-Length: {len(sent)}\r\n\r\n".encode() + sent

    async def client(self, first: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        for request in self._following(first % len(self._requests)):
            begun = time.perf_counter()
            writer.write(request)
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
            await reader.readexactly(length)
            self.sent += 1
            ended = time.perf_counter()
            if ended >= self._until:
                break
            if ended >= self._counted:
                self.times.append(1000 * (ended - begun))
                self.refused += not head.startswith((b"http/1.1 200", b"http/1.1 201"))
        writer.close()


async def _run(plan: dict[str, Any]) -> None:
    crowd = _Crowd(plan)
    await asyncio.gather(*(crowd.client(997 * n) for n in range(plan["clients"])))
    found = Times(
        milliseconds=crowd.times, seconds=crowd.seconds, refused=crowd.refused, sent=crowd.sent
    )
    print(json.dumps(asdict(found)))


if __name__ == "__main__":
    asyncio.run(_run(json.load(sys.stdin)))
