"""Conversations of ChatGPT's data export: a tree of messages, of which one branch is current."""

from collections.abc import Iterator, Mapping
from typing import Any

# Kinds of content that are text of the conversation; others are instructions and thoughts.
SPOKEN = frozenset({"text", "multimodal_text", "code", "execution_output"})


def messages(conversation: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yields the messages of the current branch in order, in the form that chat APIs use.

    Without a valid `current_node`, the branch of the last node in the file is taken.
    """
    nodes: Mapping[str, Any] = conversation["mapping"]
    place = conversation.get("current_node")
    if not isinstance(place, str) or place not in nodes:
        place = next(reversed([*nodes]), None)
    branch: list[Mapping[str, Any]] = []
    seen = set()
    while isinstance(place, str) and place in nodes and place not in seen:
        seen.add(place)
        node = nodes[place] if isinstance(nodes[place], dict) else {}
        if isinstance(node.get("message"), dict):
            branch.append(node["message"])
        place = node.get("parent")
    yield from map(_message, reversed(branch))


def _message(message: Mapping[str, Any]) -> Mapping[str, Any]:
    author, content = message.get("author"), message.get("content")
    role = author.get("role") if isinstance(author, dict) else None
    parts = _parts(content if isinstance(content, dict) else {})
    empty = not any(part["type"] != "text" or part["text"].strip() for part in parts)
    return {
        "role": role,
        "content": [{"type": "empty message"}] if empty else parts,
        "create_time": message.get("create_time"),
        "id": message.get("id"),
    }


def _parts(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    kind = str(content.get("content_type"))
    if kind not in SPOKEN:
        return [{"type": kind}]
    found = content.get("parts", [content.get("text", "")])
    return [
        {"type": "text", "text": part}
        if isinstance(part, str)
        else {"type": str(part.get("content_type")) if isinstance(part, dict) else "unknown part"}
        for part in (found if isinstance(found, list) else [found])
    ]
