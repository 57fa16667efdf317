"""The protocol from the side of a product, with the standard library alone.

docs/systems.md describes the protocol. An adapter is a module with a function `open_memory`.
"""

import json
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol

PROTOCOL = 1


class Turn(NamedTuple):
    """A turn: its id, who speaks, what is said, and when in seconds since the epoch."""

    id: int
    role: str
    text: str
    at: float | None


class Found(NamedTuple):
    """A result: a turn by its id, or a text for products that keep no ids; higher is better."""

    turn: int | None
    score: float | None
    text: str = ""


class Memory(Protocol):
    """What an adapter makes of a product: a memory of one thread."""

    def add(self, turns: Sequence[Turn]) -> None:
        """Adds turns, in order."""
        ...

    def search(self, query: str, limit: int) -> Iterable[Found]:
        """Finds at most `limit` results, best first."""
        ...


class Embedder:
    """The embedder of the benchmark, behind the protocol; may be used from any thread."""

    def __init__(self, wire: "Wire", dimension: int) -> None:
        """Starts."""
        self._wire = wire
        self.dimension = dimension

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Embeds passages."""
        return self._vectors(texts, query=False)

    def embed_query(self, text: str) -> list[float]:
        """Embeds a query."""
        return self._vectors([text], query=True)[0]

    def _vectors(self, texts: Sequence[str], *, query: bool) -> list[list[float]]:
        vectors: list[list[float]] = self._wire.ask({"embed": [*texts], "query": query})["vectors"]
        return vectors


class Said(NamedTuple):
    """What a language model said, and the tokens that were read and written for it."""

    text: str
    prompt_tokens: int
    completion_tokens: int


class Model:
    """The language model of the benchmark, behind the protocol; may be used from any thread."""

    def __init__(self, wire: "Wire") -> None:
        """Starts."""
        self._wire = wire

    def chat(
        self,
        messages: Sequence[Mapping[str, str]],
        most_tokens: int,
        response_format: Mapping[str, Any] | None = None,
    ) -> Said:
        """Returns the next message of a chat, in a form as in the API of OpenAI."""
        asked = {"chat": [*messages], "most_tokens": most_tokens}
        answer = self._wire.ask({**asked, "response_format": response_format})
        return Said(answer["said"], answer["prompt_tokens"], answer["completion_tokens"])


class Given(NamedTuple):
    """What the benchmark gives to a memory."""

    directory: Path
    embedder: Embedder
    model: Model
    mode: str


class Wire:
    """The lines to and from the benchmark."""

    def __init__(self, lines: BinaryIO, out: BinaryIO) -> None:
        """Starts."""
        self._lines = lines
        self._out = out
        self._asking = threading.Lock()

    def read(self) -> dict[str, Any] | None:
        """Returns the next message; None when there is none to come."""
        line = self._lines.readline()
        return json.loads(line) if line else None

    def write(self, message: dict[str, Any]) -> None:
        """Writes a message."""
        self._out.write(json.dumps(message).encode() + b"\n")
        self._out.flush()

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """Asks the benchmark for something, one thing at a time."""
        with self._asking:
            self.write(message)
            answer = self.read()
        if answer is None:
            raise EOFError("the benchmark has gone")
        return answer


Open = Callable[[Given], Memory]


class Server:
    """Answers requests with a memory."""

    def __init__(self, wire: Wire, name: str, package: str, load: Callable[[], Open]) -> None:
        """Starts; the product is imported when a thread is opened, and not to say hello."""
        self._wire = wire
        self._name = name
        self._package = package
        self._load = load
        self._embedder = Embedder(wire, 0)
        self._model = Model(wire)
        self._memory: Memory | None = None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Does what is asked, and returns the fields of the reply."""
        match request["op"]:
            case "hello":
                self._embedder.dimension = request["embedder"]["dimension"]
                version = metadata.version(self._package) if self._package else ""
                return {"protocol": PROTOCOL, "name": self._name, "version": version}
            case "open":
                directory = Path(request["directory"])
                given = Given(directory, self._embedder, self._model, request["mode"])
                self._memory = self._load()(given)
                return {}
            case "add":
                self._opened.add([Turn(**turn) for turn in request["turns"]])
                return {}
            case "search":
                found = self._opened.search(request["query"], request["limit"])
                return {"results": [_result(one) for one in found]}
            case other:
                raise ValueError(f"unknown request {other!r}")

    def close(self) -> None:
        """Lets a memory end what it started, if it has a `close`."""
        close = getattr(self._memory, "close", None)
        if close is not None:
            close()

    @property
    def _opened(self) -> Memory:
        if self._memory is None:
            raise ValueError("no thread is open")
        return self._memory


def _result(found: Found) -> dict[str, Any]:
    score = None if found.score is None else float(found.score)
    if found.turn is None:
        return {"text": found.text, "score": score}
    return {"turns": [int(found.turn)], "score": score}


def serve(name: str, package: str, load: Callable[[], Open]) -> None:
    """Answers requests until there are none to come.

    Args:
        name: The name of the product.
        package: The distribution whose version is the product's; empty if there is none.
        load: Imports the adapter and returns its `open_memory`.
    """
    # What a product prints goes to stderr: our lines would be damaged by it.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    wire = Wire(sys.stdin.buffer, out)
    server = Server(wire, name, package, load)
    while request := wire.read():
        try:
            reply = server.answer(request)
        except Exception as error:  # noqa: BLE001 - whatever a product raises is reported
            traceback.print_exc()
            reply = {"error": f"{type(error).__name__}: {error}"}
        wire.write({"id": request["id"], **reply})
    out.close()
    server.close()
    os._exit(0)  # products leave threads behind that would wait for ever
