"""The REST API: one module for each kind of request."""

from fastapi import APIRouter

from tsim.server import bodies
from tsim.server.rest import files, forgetting, questions, threads


def router() -> APIRouter:
    """Returns the routes of the API, without prefix."""
    found = APIRouter(responses={"default": {"model": bodies.Problem, "description": "An error."}})
    for part in (threads, questions, forgetting, files):
        found.include_router(part.routes)
    return found
