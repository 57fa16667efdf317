"""The functions that a controller can call, as described to a model."""

from collections.abc import Mapping
from typing import Any

from scaleqa.backends import Function
from scaleqa.systems.memgpt.memory import RefusedError

HEARTBEAT = "request_heartbeat"
TYPES = {"string": str, "integer": int, "boolean": bool}
SEARCHES = ("archival_memory_search", "conversation_search")


def _function(name: str, description: str, /, **texts: str) -> Function:
    properties: dict[str, Any] = {
        key: {"type": "string", "description": text} for key, text in texts.items()
    }
    if name in SEARCHES:
        properties["page"] = {"type": "integer", "description": "Page of the results, from 0."}
    properties[HEARTBEAT] = {
        "type": "boolean",
        "description": "Ask to act again once the function has returned.",
    }
    schema = {"type": "object", "properties": properties, "required": sorted(texts)}
    return Function(name=name, description=description, parameters=schema)


FUNCTIONS = (
    _function(
        "core_memory_append",
        "Add a line to a block of core memory.",
        name="persona or human",
        content="The line.",
    ),
    _function(
        "core_memory_replace",
        "Replace a text in a block of core memory.",
        name="persona or human",
        old_content="The exact text to replace.",
        new_content="What to put in its place; empty to delete.",
    ),
    _function(
        "conversation_search",
        "Search all messages of the conversation by words.",
        query="Words to look for.",
    ),
    _function(
        "archival_memory_insert",
        "Keep a passage in archival memory.",
        content="A passage that can be understood alone; quote messages whole, a line each.",
    ),
    _function(
        "archival_memory_search",
        "Search archival memory by meaning.",
        query="What to look for.",
    ),
)


def check(function: Function, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Checks the arguments of a call and returns them without the heartbeat.

    Raises:
        RefusedError: One is missing, unknown or of the wrong type.
    """
    properties = function.parameters["properties"]
    for key in function.parameters["required"]:
        if key not in arguments:
            raise RefusedError(f"{function.name} needs {key!r}")
    for key, value in arguments.items():
        if key not in properties:
            known = ", ".join(properties)
            raise RefusedError(f"{function.name} has no argument {key!r}; it has {known}")
        kind = properties[key]["type"]
        if type(value) is not TYPES[kind]:
            raise RefusedError(f"{key!r} of {function.name} is {value!r}, not of type {kind}")
    if arguments.get("page", 0) < 0:
        raise RefusedError("pages are counted from 0")
    return {key: value for key, value in arguments.items() if key != HEARTBEAT}
