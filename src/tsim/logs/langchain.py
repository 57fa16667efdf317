"""Messages as LangChain writes them: the kind of message stands for its role."""

from collections.abc import Mapping
from typing import Any

ROLES = {"human": "user", "ai": "assistant", "tool": "tool", "function": "tool", "system": "system"}


def message(record: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Returns a message of LangChain in the form that chat APIs use; None if it is none.

    Reads what `message_to_dict`, `dumpd` and `model_dump` return.
    """
    match record:
        case {"lc": int(), "id": [*_, str(name)], "kwargs": {"content": _}}:
            return _said(name.partition("Message")[0].lower(), record["kwargs"])
        case {"type": str(kind), "data": {"content": _}}:
            return _said(kind, record["data"])
        # Transcripts of other programs have notices of the type `system`, with a subtype.
        case {"type": str(kind), "content": _} if record.keys().isdisjoint(("role", "subtype")):
            return _said(kind, record)
    return None


def _said(kind: str, inner: Mapping[str, Any]) -> Mapping[str, Any] | None:
    role = inner.get("role") if kind == "chat" else ROLES.get(kind)
    if role is None:
        return None
    return {key: value for key, value in inner.items() if key != "type"} | {"role": role}
