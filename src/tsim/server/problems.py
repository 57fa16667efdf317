"""Errors as answers: every kind of error has its status here, and is sent as problem+json."""

import json
import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from tsim.errors import (
    AccessError,
    InputError,
    KeyMissingError,
    LimitError,
    MismatchError,
    ModelError,
    OutcomeUnknownError,
    RemoteError,
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreUnreachableError,
    ThreadMissingError,
    TooLargeError,
    TooManyError,
    TsimError,
)

log = logging.getLogger("tsim.server")

MEDIA_TYPE = "application/problem+json"
# The first that fits counts.
STATUSES: tuple[tuple[type[TsimError], HTTPStatus], ...] = (
    (KeyMissingError, HTTPStatus.UNAUTHORIZED),
    (AccessError, HTTPStatus.FORBIDDEN),
    (TooLargeError, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    (TooManyError, HTTPStatus.TOO_MANY_REQUESTS),
    (LimitError, HTTPStatus.SERVICE_UNAVAILABLE),
    (ThreadMissingError, HTTPStatus.NOT_FOUND),
    (InputError, HTTPStatus.BAD_REQUEST),
    (MismatchError, HTTPStatus.CONFLICT),
    (StoreBusyError, HTTPStatus.SERVICE_UNAVAILABLE),
    (StoreFullError, HTTPStatus.INSUFFICIENT_STORAGE),
    (StoreUnreachableError, HTTPStatus.SERVICE_UNAVAILABLE),
    (StoreError, HTTPStatus.INTERNAL_SERVER_ERROR),
    (RemoteError, HTTPStatus.BAD_GATEWAY),
    (ModelError, HTTPStatus.INTERNAL_SERVER_ERROR),
)
RETRY_SECONDS = 1


def problem(
    status: int, kind: str, detail: str, headers: Mapping[str, str] | None = None
) -> Response:
    """Returns an error as an answer.

    Args:
        status: The HTTP status.
        kind: The kind of the error, which never changes once released.
        detail: What was found, what was expected and what to do.
        headers: More headers.
    """
    body = {
        "type": f"urn:tsim:{kind}",
        "title": HTTPStatus(status).phrase,
        "status": int(status),
        "kind": kind,
        "detail": detail,
    }
    content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
    return Response(content, status, headers=headers, media_type=MEDIA_TYPE)


def answer(error: TsimError) -> Response:
    """Returns an error of ours as an answer."""
    status = status_of(error)
    headers = {"Retry-After": str(RETRY_SECONDS)} if status in (429, 503) else {}
    if status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    return problem(status, error.kind, detail(error), headers)


def status_of(error: TsimError) -> HTTPStatus:
    """Returns the HTTP status of an error."""
    found = (status for kind, status in STATUSES if isinstance(error, kind))
    return next(found, HTTPStatus.INTERNAL_SERVER_ERROR)


def detail(error: TsimError) -> str:
    """Returns what a client may know of an error: nothing of the server's files and network."""
    if isinstance(error, ThreadMissingError):
        return "there is no such thread; adding a turn creates it"
    if isinstance(error, OutcomeUnknownError):
        log.error("%s", error)
        return (
            "it is unknown whether the change was written; look at the latest turns before you "
            "try again"
        )
    if isinstance(error, StoreError | ModelError | RemoteError) and not isinstance(
        error, MismatchError
    ):
        log.error("%s", error)
        phrase = status_of(error).phrase.lower()
        return f"the memory cannot be used ({phrase}); the server's log says why"
    return str(error)


def register(app: Starlette) -> None:
    """Makes an application answer with problems."""

    async def ours(_: Request, error: Exception) -> Response:
        assert isinstance(error, TsimError)  # noqa: S101  # what it is registered for
        return answer(error)

    async def invalid(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)  # noqa: S101
        return problem(400, InputError.kind, _misread(error.errors()[0]))

    async def known(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # noqa: S101
        kind = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "error")
        return problem(error.status_code, kind, str(error.detail), error.headers)

    async def unexpected(request: Request, error: Exception) -> Response:
        # The traceback says where. The address names threads, and may have anything in it.
        log.error("a request failed (%s)", request.method, exc_info=error)
        return problem(500, TsimError.kind, "the server failed; its log says why")

    async def gone(_: Request, __: Exception) -> Response:
        return problem(400, InputError.kind, "the request ended before it was complete")

    app.add_exception_handler(TsimError, ours)
    app.add_exception_handler(ClientDisconnect, gone)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, known)
    app.add_exception_handler(Exception, unexpected)


def _misread(found: Mapping[str, Any]) -> str:
    """Returns what is wrong with a request, from what pydantic says about it."""
    where, kind = ".".join(map(str, found["loc"])), found["type"]
    if kind == "json_invalid":
        return f"the body is not JSON (character {found['loc'][-1]})"
    if where == "body":
        return "expected a JSON object as body, sent with Content-Type: application/json"
    if kind == "extra_forbidden":
        return f"{where}: this request has no such field; /docs lists those it has"
    return f"{where}: {found['msg']}"
