"""Texts in many languages, code and data, with the token counts of real tokenizers."""

import json
import re
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "tsim" / "corpus"
# Its vocabulary is English: it spells other scripts letter by letter, if it knows the letters.
ENGLISH_ONLY = "bert-uncased"
FOREIGN = re.compile("[^\x00-\u024f\u1e00-\u1eff\u2000-\u206f]")


@cache
def texts() -> dict[str, str]:
    """Returns the texts by name."""
    parts = re.split(r"^=== (.+)\n", (FOLDER / "texts.txt").read_text("utf-8"), flags=re.M)
    return {name: text.rstrip("\n") for name, text in zip(parts[1::2], parts[2::2], strict=True)}


@cache
def counts() -> dict[str, dict[str, int]]:
    """Returns the recorded counts: by tokenizer, by text."""
    found: dict[str, dict[str, int]] = json.loads((FOLDER / "counts.json").read_text("utf-8"))
    return found


def suits(tokenizer: str, text: str) -> bool:
    """Returns whether a tokenizer was made for the script of a text."""
    foreign = len(FOREIGN.findall(text))
    return tokenizer != ENGLISH_ONLY or foreign < 0.04 * len(text)
