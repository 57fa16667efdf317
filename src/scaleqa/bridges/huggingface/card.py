"""The card of an exported data set: front matter that the hub reads, and what people read."""

import json
import re
from collections.abc import Sequence
from importlib import resources
from itertools import groupby
from typing import Any

from scaleqa import __version__
from scaleqa.bridges.huggingface.files import Written
from scaleqa.bridges.huggingface.shapes import Fields, features

PLAIN = re.compile(r"[A-Za-z][\w./:-]*")
# Plain words that YAML takes for something else.
RESERVED = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}
# The hub's classes of size, by the number of rows below which they end.
SIZES = {1_000: "n<1K", 10_000: "1K<n<10K", 100_000: "10K<n<100K", 1_000_000: "100K<n<1M"}


def readme(files: Sequence[Written], shapes: dict[str, Fields], card: str) -> str:
    """Returns the README.md of a data set.

    Args:
        files: Its tables.
        shapes: The columns of each configuration.
        card: The dataset card of the records; empty if they are left out.
    """
    lines = [
        f"| `{f.config}` | `{f.split}` | {f.rows:,} | {f.size:,} | `{f.sha256}` |" for f in files
    ]
    template = resources.files(__package__).joinpath("README.template.md").read_text("utf-8")
    parts = {
        "version": __version__,
        "config": files[0].config,
        "split": files[0].split,
        "files": "\n".join(lines),
    }
    text = re.sub(r"\{(\w+)\}", lambda found: parts[found[1]], template)
    front = "\n".join(_block(_front(files, shapes)))
    return f"---\n{front}\n---\n\n{text}" + (f"\n{card}" if card else "")


def _front(files: Sequence[Written], shapes: dict[str, Fields]) -> dict[str, Any]:
    configs = [(name, [*some]) for name, some in groupby(files, lambda file: file.config)]
    rows = sum(file.rows for file in files)
    return {
        "license": "cc-by-4.0",
        "language": ["en"],
        "pretty_name": "SCALE-QA",
        "task_categories": ["question-answering", "multiple-choice"],
        "tags": ["memory", "long-context", "retrieval", "conversation"],
        "size_categories": [next((s for most, s in SIZES.items() if rows < most), "n>1M")],
        "configs": [
            {
                "config_name": name,
                "data_files": [{"split": file.split, "path": file.path} for file in some],
                **({"default": True} if name == files[0].config else {}),
            }
            for name, some in configs
        ],
        "dataset_info": [
            {
                "config_name": name,
                "features": features(shapes[name]),
                "splits": [
                    {"name": file.split, "num_bytes": file.data, "num_examples": file.rows}
                    for file in some
                ],
                "download_size": sum(file.size for file in some),
                "dataset_size": sum(file.data for file in some),
            }
            for name, some in configs
        ],
    }


def _block(value: Any) -> list[str]:
    """Writes plain data as the lines of a YAML block."""
    lines: list[str] = []
    if isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(inner, dict | list):
                indent = "  " if isinstance(inner, dict) else ""
                lines += [f"{key}:", *(f"{indent}{line}" for line in _block(inner))]
            else:
                lines.append(f"{key}: {_scalar(inner)}")
        return lines
    for inner in value:
        first, *others = _block(inner) if isinstance(inner, dict | list) else [_scalar(inner)]
        lines += [f"- {first}", *(f"  {line}" for line in others)]
    return lines


def _scalar(value: Any) -> str:
    plain = isinstance(value, str) and PLAIN.fullmatch(value) and value.lower() not in RESERVED
    return str(value) if plain else json.dumps(value)
