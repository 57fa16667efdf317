"""A server that stands in for writers and readers; what it says depends on the prompt alone."""

import hashlib
import json
import re
from collections.abc import Callable
from typing import Any

from tests.support.records import WORDS
from tests.support.servers import JsonServer, completion

# The beginning of each prompt, and what it asks for.
KINDS = (
    ("You write situations", "scenario"),
    ("You write a record", "realise"),
    ("Check this record", "check"),
    ("Whoever has not seen", "distractors"),
    ("Below is a conversation between a user and an assistant (called", "sequel"),
    ("Below is a conversation", "open"),
    ("Below are two conversations", "sequel-open"),
    ("A user comes back to an assistant with the request below. It is about", "pick"),
    ("A user comes back", "closed"),
    ("Weeks after this conversation", "wording"),
)
LETTERS = "ABCD"


def kind_of(prompt: str) -> str:
    """What a prompt asks for."""
    for start, kind in KINDS:
        if prompt.startswith(start):
            return kind
    aside = "mentioned a fact in passing" in prompt
    if prompt.startswith("You write a question"):
        return "aside-question" if aside else "question"
    return "aside-dialogue" if aside else "dialogue"


def said(prompt: str, count: int, salt: str = "") -> str:
    """Some words that no other prompt gets."""
    digest = hashlib.sha256(f"{salt}{prompt}".encode()).digest()
    tails = [letters(digest[n : n + 2].hex()) for n in range(count)]
    return " ".join(f"{WORDS[digest[n] % len(WORDS)]}{tail}" for n, tail in enumerate(tails))


def letters(text: str) -> str:
    """Text without digits, so that it looks like no code."""
    return text.translate(str.maketrans("0123456789", "ghijklmnop"))


def _between(prompt: str, start: str) -> str:
    found = re.search(rf"^{start}: (.*)$", prompt, re.M)
    return found[1] if found else ""


def _dialogue(prompt: str, letter: str, turns: int = 7) -> list[dict[str, str]]:
    """Tells the letter to readers in a way that no check takes for an option."""
    texts = [said(prompt, 12, str(n)) for n in range(turns)]
    texts[2] += f" sign {letter.lower()}qq"
    return [{"role": ("user", "model")[n % 2], "content": text} for n, text in enumerate(texts)]


def _asked(prompt: str) -> dict[str, Any]:
    tail = letters(hashlib.sha256(prompt.encode()).hexdigest()[:6])
    options = [f"take {said(prompt, 2, key)} {key.lower()}{tail}" for key in LETTERS]
    return {"question": f"which {said(prompt, 5, 'q')} do we take?", "options": options}


def _told(prompt: str) -> dict[str, Any]:
    letter = _between(prompt, "The right option") or "D"
    stress = {"labels": ["constraint_trap"], "primary": "constraint_trap"}
    said_so = {"evidence": [2], "reasoning": "The sign says so.", "stress": stress}
    return {"dialogue": _dialogue(prompt, letter), **said_so}


def _told_in_passing(prompt: str) -> dict[str, Any]:
    turns = _dialogue(prompt, _between(prompt, "The right option"), 5)
    return {"dialogue": turns, "evidence": [2], "fact": turns[2]["content"], "reasoning": "So."}


def _continued(prompt: str) -> dict[str, Any]:
    turns = _dialogue(prompt, _between(prompt, "The option that is right after the change"), 4)
    return {"dialogue": turns, "evidence": [2], "keeps": [], "reasoning": "It changed."}


def _read(prompt: str) -> dict[str, Any]:
    sign = re.findall(r"sign ([abcd])qq", prompt)[-1]
    options = dict(re.findall(r"^([ABCD])\) (.*)$", prompt, re.M))
    # Options that were written with the dialogue have been put in another order since.
    moved = [key for key, text in options.items() if text.split()[-1].startswith(sign)]
    return {"answer": moved[0] if sign == "d" and moved else sign.upper(), "evidence": [2]}


def _guessed(prompt: str) -> dict[str, Any]:
    return {"answer": LETTERS[hashlib.sha256(prompt.encode()).digest()[0] % 4]}


def _worded(prompt: str) -> dict[str, Any]:
    return {"question": f"is the {said(prompt, 3)} one fine?"}


REPLIES: dict[str, Callable[[str], dict[str, Any]]] = {
    "scenario": lambda prompt: {"scenario": f"somebody keeps {said(prompt, 12)}"},
    "question": _asked,
    "aside-question": _asked,
    "dialogue": _told,
    "aside-dialogue": _told_in_passing,
    "realise": lambda prompt: {**_told(prompt), **_asked(prompt), "right": 4},
    "distractors": lambda prompt: {"options": re.findall(r"^[ABCD]\) (.*)$", prompt, re.M)},
    "check": lambda _: {"problems": []},
    "open": _read,
    "closed": _guessed,
    "wording": _worded,
    "pick": lambda _: {"pick": 1},
    "sequel": _continued,
    "sequel-open": lambda prompt: {**_read(prompt), "evidence": []},
}


def reply(prompt: str) -> dict[str, Any]:
    """What a good model replies."""
    return REPLIES[kind_of(prompt)](prompt)


class Author(JsonServer):
    """Replies to prompts; `twist` may make a reply another one, by its number and the prompt."""

    def __init__(self, twist: Callable[[int, str], object] | None = None) -> None:
        super().__init__(self._answer)
        self._twist = twist

    @property
    def prompts(self) -> list[str]:
        """What was asked."""
        return [one["messages"][0]["content"] for one in self.seen]

    def _answer(self, body: dict[str, Any]) -> object:
        prompt = body["messages"][0]["content"]
        twisted = self._twist(len(self.seen), prompt) if self._twist else None
        if isinstance(twisted, str):
            return completion(twisted)
        return twisted or completion(json.dumps(reply(prompt)))
