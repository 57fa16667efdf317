"""The REST API: one module for each kind of request."""

from typing import Any

from fastapi import FastAPI

from tsim import wire
from tsim.server import bodies, problems
from tsim.server.rest import files, forgetting, questions, threads

_ERROR: dict[str, Any] = {
    "description": "An error.",
    "content": {problems.MEDIA_TYPE: {"schema": wire.adapter(bodies.Problem).json_schema()}},
}


def add_routes(app: FastAPI, prefix: str, *, described: bool) -> None:
    """Adds the routes of the API to an application.

    Args:
        app: The application.
        prefix: What their addresses begin with.
        described: Whether they are in the description of the API.
    """
    for part in (threads, questions, forgetting, files):
        app.include_router(
            part.routes,
            prefix=prefix,
            include_in_schema=described,
            responses={"default": _ERROR},
        )
