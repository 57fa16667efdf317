"""A server that stands in for writers and readers of records; what it says depends on the prompt."""

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
    return [
        {
            "role": ("user", "model")[n % 2],
            "content": f"{said(prompt, 12, str(n))} {f'sign {letter.lower()}qq' if n == 2 else ''}".strip(),
        }
        for n in range(turns)
    ]


def reply(prompt: str) -> dict[str, Any]:
    """What a good model replies."""
    kind, salted = kind_of(prompt), hashlib.sha256(prompt.encode()).hexdigest()
    letter = _between(prompt, "The right option") or _between(prompt, "Right option")
    told = {
        "evidence": [2],
        "reasoning": "The sign says so.",
        "stress": {"labels": ["constraint_trap"], "primary": "constraint_trap"},
    }
    sign = re.findall(r"sign ([abcd])qq", prompt)
    match kind:
        case "scenario":
            return {"scenario": f"somebody keeps {said(prompt, 12)}"}
        case "question" | "aside-question":
            options = [
                f"take {said(prompt, 2, key)} {key.lower()}{letters(salted[:6])}" for key in LETTERS
            ]
            return {"question": f"which {said(prompt, 5, 'q')} do we take?", "options": options}
        case "dialogue":
            return {"dialogue": _dialogue(prompt, letter), **told}
        case "aside-dialogue":
            turns = _dialogue(prompt, letter, 5)
            return {"dialogue": turns, "evidence": [2], "fact": turns[2]["content"][-40:],
                    "reasoning": "It follows."}  # fmt: skip
        case "realise":
            options = [
                f"take {said(prompt, 2, key)} {key.lower()}{letters(salted[:6])}" for key in LETTERS
            ]
            return {"dialogue": _dialogue(prompt, "D"), "question": f"which {said(prompt, 5)}?",
                    "options": options, "right": 4, **told}  # fmt: skip
        case "distractors":
            return {"options": re.findall(r"^[ABCD]\) (.*)$", prompt, re.M)}
        case "check":
            return {"problems": []}
        case "open":
            texts = dict(re.findall(r"^([ABCD])\) (.*)$", prompt, re.M))
            # Options of records that were written together say which of them is meant.
            right = next((k for k, v in texts.items() if f" {sign[0]}" in v[-8:]), sign[0].upper())
            return {"answer": right if "sign d" in prompt else sign[0].upper(), "evidence": [2]}
        case "closed":
            return {"answer": LETTERS[int(salted, 16) % 4]}
        case "wording":
            return {"question": f"is the zesty {letters(salted[:4])} one fine?"}
        case "pick":
            return {"pick": 1}
        case "sequel":
            drawn = _between(prompt, "The option that is right after the change")
            return {"dialogue": _dialogue(prompt, drawn, 4), "evidence": [2], "keeps": [],
                    "reasoning": "It changed."}  # fmt: skip
        case _:
            return {"answer": sign[-1].upper(), "evidence": []}


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
