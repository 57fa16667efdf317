"""Sends calls: `Connection` waits, `AsyncConnection` awaits. Nothing is decided here."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import httpx

from tsim.client.call import Call, Pages
from tsim.client.exchange import Exchange
from tsim.client.server import Server
from tsim.client.streams import Receiver, receiving, sending
from tsim.errors import RemoteError, TsimError

T = TypeVar("T")
CLOSED = "the client is closed; open another one"


class Connection:
    """Sends calls and waits for the answers."""

    def __init__(self, server: Server) -> None:
        """Connects to nothing yet."""
        self.server = server
        self._http = httpx.Client(**server.options())

    def close(self) -> None:
        """Closes what is open."""
        self._http.close()

    def do(self, call: Call[T], content: Iterable[bytes] | None = None) -> T:
        """Makes a call and returns its result."""
        exchange = self.server.exchange(call)
        return exchange.result(self._answer(exchange, content))

    def run(self, steps: Generator[Call[Any], Any, T]) -> T:
        """Makes the calls of an operation that needs several, and returns its result."""
        try:
            call = next(steps)
            while True:
                try:
                    answer = self.do(call)
                except TsimError as error:
                    call = steps.throw(error)
                else:
                    call = steps.send(answer)
        except StopIteration as ended:
            result: T = ended.value
            return result

    def walk(self, pages: Pages[T]) -> Iterator[T]:
        """Yields the items of pages, each page when it is needed."""
        call = next(pages, None)
        while call is not None:
            page = self.do(call)
            yield from page.items
            try:
                call = pages.send(page)
            except StopIteration:
                return

    def download(self, call: Call[bytes], target: Path | BinaryIO, receiver: Receiver) -> None:
        """Writes an answer to a file or stream."""
        exchange = self.server.exchange(call)
        with receiving(target) as out:
            response = self._answer(exchange, stream=True)
            try:
                for piece in response.iter_bytes():
                    receiver.take(piece)
                    out.write(piece)
            except httpx.RequestError as error:
                raise exchange.broken_off(error) from error
            finally:
                response.close()
            receiver.end()

    def upload(self, call: Call[T], source: Path | BinaryIO) -> T:
        """Sends a file or stream."""
        with sending(source) as read:
            return self.do(call, iter(read, b""))

    def _answer(
        self, exchange: Exchange[T], content: Iterable[bytes] | None = None, *, stream: bool = False
    ) -> httpx.Response:
        while True:
            outcome = self._send(exchange.call, content, stream=stream)
            settled = exchange.settle(outcome)
            if isinstance(settled, httpx.Response):
                return settled
            self.server.patience.sleep(settled)

    def _send(
        self, call: Call[Any], content: Iterable[bytes] | None, *, stream: bool
    ) -> httpx.Response | httpx.RequestError:
        if self._http.is_closed:
            raise RemoteError(CLOSED)
        request = self._http.build_request(**self.server.request(call, content))
        try:
            response = self._http.send(request, stream=stream)
            if not response.is_success:
                response.read()
        except httpx.RequestError as error:
            return error
        return response


class AsyncConnection:
    """Sends calls and awaits the answers; the same as `Connection`, line by line."""

    def __init__(self, server: Server) -> None:
        """Connects to nothing yet."""
        self.server = server
        self._http = httpx.AsyncClient(**server.options())

    async def close(self) -> None:
        """Closes what is open."""
        await self._http.aclose()

    async def do(self, call: Call[T], content: AsyncIterable[bytes] | None = None) -> T:
        """Makes a call and returns its result."""
        exchange = self.server.exchange(call)
        return exchange.result(await self._answer(exchange, content))

    async def run(self, steps: Generator[Call[Any], Any, T]) -> T:
        """Makes the calls of an operation that needs several, and returns its result."""
        try:
            call = next(steps)
            while True:
                try:
                    answer = await self.do(call)
                except TsimError as error:
                    call = steps.throw(error)
                else:
                    call = steps.send(answer)
        except StopIteration as ended:
            result: T = ended.value
            return result

    async def walk(self, pages: Pages[T]) -> AsyncIterator[T]:
        """Yields the items of pages, each page when it is needed."""
        call = next(pages, None)
        while call is not None:
            page = await self.do(call)
            for item in page.items:
                yield item
            try:
                call = pages.send(page)
            except StopIteration:
                return

    async def download(
        self, call: Call[bytes], target: Path | BinaryIO, receiver: Receiver
    ) -> None:
        """Writes an answer to a file or stream."""
        exchange = self.server.exchange(call)
        async with _aside(receiving(target)) as out:
            response = await self._answer(exchange, stream=True)
            try:
                async for piece in response.aiter_bytes():
                    receiver.take(piece)
                    await asyncio.to_thread(out.write, piece)
            except httpx.RequestError as error:
                raise exchange.broken_off(error) from error
            finally:
                await response.aclose()
            receiver.end()

    async def upload(self, call: Call[T], source: Path | BinaryIO) -> T:
        """Sends a file or stream."""
        async with _aside(sending(source)) as read:

            async def pieces() -> AsyncIterator[bytes]:
                while piece := await asyncio.to_thread(read):
                    yield piece

            return await self.do(call, pieces())

    async def _answer(
        self,
        exchange: Exchange[T],
        content: AsyncIterable[bytes] | None = None,
        *,
        stream: bool = False,
    ) -> httpx.Response:
        while True:
            outcome = await self._send(exchange.call, content, stream=stream)
            settled = exchange.settle(outcome)
            if isinstance(settled, httpx.Response):
                return settled
            await asyncio.sleep(settled)

    async def _send(
        self, call: Call[Any], content: AsyncIterable[bytes] | None, *, stream: bool
    ) -> httpx.Response | httpx.RequestError:
        if self._http.is_closed:
            raise RemoteError(CLOSED)
        request = self._http.build_request(**self.server.request(call, content))
        try:
            response = await self._http.send(request, stream=stream)
            if not response.is_success:
                await response.aread()
        except httpx.RequestError as error:
            return error
        return response


@asynccontextmanager
async def _aside(manager: AbstractContextManager[T]) -> AsyncIterator[T]:
    """Opens and closes something in a thread: files are synced, which may take a while."""
    entered = await asyncio.to_thread(manager.__enter__)
    try:
        yield entered
    except BaseException as error:
        if not await asyncio.to_thread(manager.__exit__, type(error), error, error.__traceback__):
            raise
    else:
        await asyncio.to_thread(manager.__exit__, None, None, None)
