"""Memories as mem0 returns them: `get_all` and `search`."""

from collections.abc import Mapping
from typing import Any

ROLE = "memory"
# Whose a memory is; kept with it.
OWNERS = ("user_id", "agent_id", "run_id", "actor_id")


def message(record: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Returns a memory of mem0 in the form that chat APIs use; None if it is none."""
    match record:
        case {"memory": str(text), "id": str(name)}:
            owners = {key: record[key] for key in OWNERS if isinstance(record.get(key), str)}
            noted = record.get("metadata")
            return {
                "role": record.get("role") or ROLE,
                "text": text,
                "id": name,
                "created_at": record.get("created_at"),
                "meta": {**(noted if isinstance(noted, dict) else {}), **owners},
            }
    return None
