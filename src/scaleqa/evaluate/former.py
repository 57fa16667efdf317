"""Rows as earlier versions wrote them, brought to the present form."""

from collections.abc import Mapping
from typing import Any

# What systems were called in rows of version 1.
NAMES = {"tsim": "tsim_official", "tsim_late": "tsim"}
TOP = 5


def upgraded(row: dict[str, Any]) -> dict[str, Any]:
    """Returns a row of any version as one of the present version.

    Raises:
        KeyError: It is no row of a run.
    """
    return row if "version" in row else _from_first(row)


def _from_first(old: dict[str, Any]) -> dict[str, Any]:
    run = old["run"]
    gold = {*old["evidence"]}
    units = old.get("units", [])
    best = {turn for unit in units[:TOP] for turn in unit["turns"]}
    several = len(gold) > 1
    return {
        "version": 2,
        "run": {
            "system": _renamed(run["system"]),
            "package": run["package"],
            "records_sha256": run.get("records_sha256") or None,
            "target": old.get("target"),
            "stream_turns": old.get("stream_turns"),
            "embedder": old.get("embedder"),
            "model": run.get("model"),
            "reader": {
                "backend": run["backend"],
                "prompt": run["prompt"],
                "writeback": run["writeback"],
                "stand_in": run["backend"].startswith("extractive"),
            },
        },
        **{name: old[name] for name in ("id", "domain", "split", "reasoning", "gold")
           if name in old},
        "question": old.get("question", ""),
        "place": old.get("place", 0),
        "options": old.get("options"),
        "stress": old.get("stress", []),
        "evidence": old["evidence"],
        "evidence_texts": old.get("evidence_texts", []),
        "hit": old["hit"],
        "recalled": gold <= best,
        "together": any(gold <= {*unit["turns"]} for unit in units) if several else None,
        "evidence_shown": len(gold & {*old["shown"]}),
        "turns_shown": len(old["shown"]),
        "exchanges_shown": old["shown_from_exchanges"],
        "context_tokens": old["context_tokens"],
        "llm_calls": old.get("llm_calls"),
        "answered": _answered(old) if "correct" in old else None,
        "timing": {
            "retrieve_ms": old.get("retrieve_ms", 0.0),
            "answer_ms": old.get("answer_ms"),
            "cached": old.get("cached", False),
        },
        "detail": {
            "context": old.get("context", ""),
            "units": units,
            "shown": old["shown"],
            "reply": old.get("raw"),
            "rationale": old.get("rationale"),
        },
    }  # fmt: skip


def _answered(old: dict[str, Any]) -> dict[str, Any]:
    return {
        "answer": old["answer"],
        "correct": old["correct"],
        "rationale_similarity": old.get("rationale_similarity"),
        "prompt_tokens": old.get("prompt_tokens", 0),
        "completion_tokens": old.get("completion_tokens", 0),
        "cost_usd": old.get("cost_usd"),
    }


def former_name(system: str) -> str:
    """Returns what version 1 called a system."""
    return _with_name(system, {new: old for old, new in NAMES.items()})


def _renamed(system: str) -> str:
    return _with_name(system, NAMES)


def _with_name(system: str, names: Mapping[str, str]) -> str:
    name, colon, options = system.partition(":")
    return f"{names.get(name, name)}{colon}{options}"
