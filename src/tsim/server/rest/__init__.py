"""The REST API: one module for each kind of request."""

from typing import Any

from fastapi import APIRouter

from tsim import wire
from tsim.server import bodies, problems
from tsim.server.rest import files, forgetting, questions, threads

_ERROR: dict[str, Any] = {
    "description": "An error.",
    "content": {problems.MEDIA_TYPE: {"schema": wire.adapter(bodies.Problem).json_schema()}},
}


def router() -> APIRouter:
    """Returns the routes of the API, without prefix."""
    found = APIRouter(responses={"default": _ERROR})
    for part in (threads, questions, forgetting, files):
        found.include_router(part.routes)
    return found
