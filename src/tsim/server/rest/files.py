"""Whole memories as streams: exports, imports and backups.

They are written to a file that has no name any more, and sent from there: whoever reads slowly
keeps neither a snapshot nor a worker.
"""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Annotated, BinaryIO

from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Send
from starlette.types import Scope as Connection

from tsim import answers, private, unfinished
from tsim.errors import InputError
from tsim.memory import Memory
from tsim.server.access import Scope
from tsim.server.rest.call import Admitted, Audited, Call

routes = APIRouter(tags=["files"], route_class=Admitted)

PIECE = 1 << 18
LINES = "application/x-ndjson"


@routes.get("/export", response_class=StreamingResponse)
async def export(call: Call, thread: Annotated[list[str] | None, Query()] = None) -> Response:
    """Returns threads, or all of them, as JSON lines that `import` reads."""

    def write() -> BinaryIO:
        caller = call.caller(Scope.READ)
        call.service.note(caller, "export", threads=thread)
        with call.service.reading(caller) as memory:
            target = _nameless(call.service.settings.directory)
            try:
                memory.export(target, threads=thread)
            except BaseException:
                target.close()
                raise
        return target

    return FileAnswer(await call.service.work(write), LINES, "memory.jsonl")


@routes.post(
    "/import",
    response_model=answers.Imported,
    openapi_extra={"requestBody": {"required": True, "content": {LINES: {}}}},
)
async def import_(call: Call) -> Response:
    """Imports an export, all of it or nothing."""
    await call.service.work(lambda: call.caller(Scope.WRITE))  # before anything is received
    with _nameless(call.service.settings.directory) as source:
        async for piece in call.stream():
            source.write(piece)
        size = source.tell()
        source.seek(0)

        def read(memory: Memory) -> answers.Imported:
            return answers.Imported(turns=memory.import_(source))

        audited = Audited(action="import", about={"bytes": size})
        return await call(answers.Imported, read, scope=Scope.WRITE, create=True, audited=audited)


@routes.get("/backup", response_class=StreamingResponse)
async def backup(call: Call) -> Response:
    """Returns a copy of the memory file, made while others may use it."""

    def write() -> BinaryIO:
        caller = call.caller(Scope.ADMIN)
        if call.service.settings.store is not None:
            raise InputError(
                "the memories of this server are in a database, which has backups of its own; use "
                "these, or GET /v1/export"
            )
        call.service.note(caller, "backup")
        with call.service.memory(caller) as memory:
            return _copied(memory, call.service.settings.directory)

    return FileAnswer(await call.service.work(write), "application/vnd.sqlite3", "memory.db")


def _copied(memory: Memory, parent: FilePath) -> BinaryIO:
    with unfinished.scratch(parent) as directory:
        memory.backup(directory / "memory.db")
        return (directory / "memory.db").open("rb")


def _nameless(parent: FilePath) -> BinaryIO:
    return tempfile.TemporaryFile(dir=private.make_directory(parent))


class FileAnswer(StreamingResponse):
    """Sends a file and closes it, also if the client has gone before the first piece."""

    def __init__(self, file: BinaryIO, kind: str, name: str) -> None:
        """Takes an open file.

        Args:
            file: The file, which is closed when it has been sent.
            kind: Its media type.
            name: What a browser calls it.
        """
        headers = {
            "Content-Length": str(file.seek(0, os.SEEK_END)),
            "Content-Disposition": f'attachment; filename="{name}"',
        }
        super().__init__(_pieces(file), media_type=kind, headers=headers)
        self._file = file

    async def __call__(self, scope: Connection, receive: Receive, send: Send) -> None:
        """Sends the file."""
        with self._file:
            await super().__call__(scope, receive, send)


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    file.seek(0)
    while piece := file.read(PIECE):
        yield piece
