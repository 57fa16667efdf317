"""One request and its answer: what is remembered of both, and what is passed on meanwhile."""

import asyncio
import time
from dataclasses import dataclass, replace
from urllib.parse import quote

import httpx
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from tsim.errors import LimitError, TsimError
from tsim.proxy.answer import STREAMED, Answer
from tsim.proxy.callers import Place, declined, namespace_of, thread_of
from tsim.proxy.chat import Chat, read_chat
from tsim.proxy.field import Insertion
from tsim.proxy.headers import Raw, returned
from tsim.proxy.keeping import Keeper, kind_of, report
from tsim.proxy.outcome import Did, Outcome
from tsim.proxy.recall import Recall, Rewritten
from tsim.proxy.settings import Proxied
from tsim.proxy.upstream import Ended, Passing, Upstream
from tsim.server.service import Service

CHAT = "/v1/chat/completions"
# Bytes that are read sooner than a worker begins to.
SHORT = 64 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class _Conversation:
    """A request that can be remembered."""

    place: Place
    chat: Chat


class Proxy:
    """Answers by asking another server."""

    def __init__(
        self,
        service: Service,
        recall: Recall,
        upstream: Upstream,
        keeper: Keeper,
        proxied: Proxied,
    ) -> None:
        """Combines the parts."""
        self._service = service
        self._recall = recall
        self._upstream = upstream
        self._keeper = keeper
        self._proxied = proxied
        self._late: set[asyncio.Task[Rewritten]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request."""
        came = time.time()
        request = Request(scope, receive)
        namespace = await self._service.work(lambda: namespace_of(request.headers, self._service))
        body = await request.body()
        if scope["method"] == "POST" and scope["path"] == CHAT:
            await self._chat(request, send, namespace, body, came)
            return
        passing = Passing(begun=lambda found: returned(found.headers.raw), piece=lambda one: one)
        await self._upstream.relay(
            self._upstream.request(scope, body, readable=False), receive, send, passing
        )

    async def _chat(
        self, request: Request, send: Send, namespace: str, body: bytes, came: float
    ) -> None:
        begun = time.perf_counter()
        conversation: _Conversation | None = None
        if declined(request.headers):
            rewritten = Rewritten(outcome=Outcome(did=Did.OFF))
        else:
            conversation, rewritten = await self._recalled(request.headers, namespace, body)
        took = 1000 * (time.perf_counter() - begun)
        outcome = replace(rewritten.outcome, milliseconds=took)
        heard = _Heard(outcome, conversation, field=self._proxied.field)
        asked = self._upstream.request(
            request.scope, rewritten.body or body, readable=conversation is not None
        )
        with self._keeper.expecting():
            try:
                ended = await self._upstream.relay(
                    asked, request.receive, send, Passing(begun=heard.begun, piece=heard.piece)
                )
                if heard.answer is not None:
                    heard.answer.complete = ended is Ended.WHOLE
            finally:
                if conversation is not None and heard.answer is not None:
                    self._keep(conversation, heard.answer, len(body), came)

    def _keep(self, said: _Conversation, answer: Answer, size: int, came: float) -> None:
        def write() -> None:
            self._recall.keep(said.place, said.chat, answer, came)

        self._keeper.keep(said.place, write, size + answer.size)

    async def _recalled(
        self, headers: Headers, namespace: str, body: bytes
    ) -> tuple[_Conversation | None, Rewritten]:
        """Returns a request as it is to be sent; whatever fails here, it is sent as it came."""
        begun = time.perf_counter()
        try:
            chat = await self._read(body)
        except TsimError as error:
            report("a chat is sent as it came", error)
            return None, _failed(kind_of(error))
        place = Place(namespace=namespace, thread=thread_of(headers, chat.values))
        found = _Conversation(place=place, chat=chat)
        parsing = 1000 * (time.perf_counter() - begun)
        try:
            rewritten = await self._in_time(found)
            stages = {"parse": parsing, **rewritten.outcome.stages}
            return found, replace(rewritten, outcome=replace(rewritten.outcome, stages=stages))
        except Exception as error:  # noqa: BLE001  # no failure of a memory is one of the proxy
            report("a chat is sent as it came", error)
            return found, _failed(kind_of(error))

    async def _read(self, body: bytes) -> Chat:
        if len(body) <= SHORT:
            return read_chat(body)
        return await self._service.work(lambda: read_chat(body))

    async def _in_time(self, said: _Conversation) -> Rewritten:
        """Asks the memory, again when it has written what came before, if that was missing."""
        until = time.monotonic() + self._proxied.seconds
        found = await self._asked(said, until)
        if found.outcome.did is Did.LEARNING:
            pending = self._keeper.pending(said.place)
            if pending and await self._keeper.settled(said.place, until - time.monotonic()):
                found = await self._asked(said, until)
        reason = self._keeper.failure(said.place)
        if found.outcome.did is Did.LEARNING and reason:
            return Rewritten(outcome=replace(found.outcome, did=Did.FAILED, reason=reason))
        return found

    async def _asked(self, said: _Conversation, until: float) -> Rewritten:
        task = asyncio.create_task(
            self._service.work(lambda: self._recall.rewrite(said.place, said.chat))
        )
        self._late.add(task)
        task.add_done_callback(self._finished)
        with self._keeper.asking():
            done, _ = await asyncio.wait({task}, timeout=max(0.0, until - time.monotonic()))
        if not done:
            raise LimitError("the memory takes too long")
        return task.result()

    def _finished(self, task: asyncio.Task[Rewritten]) -> None:
        """Notes that a search has ended, for which nobody may be waiting any more."""
        self._late.discard(task)
        if not task.cancelled():
            task.exception()


class _Heard:
    """An answer while it passes by.

    Attributes:
        answer: What is kept of it, if it is one to be kept.
    """

    def __init__(self, outcome: Outcome, said: _Conversation | None, *, field: bool) -> None:
        self.answer: Answer | None = None
        self._outcome = outcome
        self._said = said
        self._field = field
        self._insertion: Insertion | None = None

    def begun(self, response: httpx.Response) -> Raw:
        headers = [*returned(response.headers.raw), *self._outcome.headers()]
        if self._said is None:
            return headers
        headers.append((b"x-tsim-thread", quote(self._said.place.thread).encode()))
        if response.is_success:
            kind = response.headers.get("content-type", "")
            self.answer = Answer(kind)
            if self._field and "content-encoding" not in response.headers:
                self._insertion = Insertion(self._outcome.field(), streamed=STREAMED in kind)
                headers = self._insertion.headers(headers)
        return headers

    def piece(self, piece: bytes) -> bytes:
        if self.answer is not None:
            self.answer.take(piece)
        return piece if self._insertion is None else self._insertion.piece(piece)


def _failed(reason: str) -> Rewritten:
    return Rewritten(outcome=Outcome(did=Did.FAILED, reason=reason))
