"""Open information extraction by a chat model, with one call per passage."""

from collections.abc import Sequence
from typing import Any

from pydantic_core import from_json

from scaleqa.backends import ChatModel, Message
from scaleqa.packages import StreamTurn
from scaleqa.systems.hipporag.facts import Facts, Triple, phrase

MOST_TOKENS = 1000
PASSAGE = (
    "Read this piece of a conversation. List its named entities and key noun phrases, then the "
    "facts it states as triples of subject, relation and object. Each triple should hold at least "
    "one of the entities; put names in the place of pronouns where it is clear who is meant. "
    'Answer with JSON only: {{"entities": ["..."], "triples": [["subject", "relation", "object"]]}}'
    "\n\n{text}"
)
QUESTION = (
    "List the named entities and key noun phrases of this request, each as it is written. Answer "
    'with JSON only: {{"entities": ["..."]}}\n\n{text}'
)


class Prompted:
    """Extracts facts with a model; replies that cannot be used are counted and ignored."""

    def __init__(self, model: ChatModel) -> None:
        """Starts empty."""
        self.calls = 0
        self.malformed = 0
        self._model = model
        self._answers: dict[str, dict[str, Any]] = {}

    def read(self, passages: Sequence[Sequence[StreamTurn]]) -> list[Facts]:
        """Extracts the facts of passages, with one call each."""
        lines = [[f"{turn.role}: {turn.text}" for turn in passage] for passage in passages]
        return [self._facts("\n".join(some)) for some in lines]

    def ask(self, question: str) -> tuple[str, ...]:
        """Returns the entities that the model finds in a question."""
        return tuple(dict.fromkeys(_entities(self._answer(QUESTION.format(text=question)))))

    def _facts(self, text: str) -> Facts:
        answer = self._answer(PASSAGE.format(text=text))
        triples = _triples(answer)
        ends = [end for one, _, other in triples for end in (one, other)]
        whole = f" {phrase(text)} "
        names = dict.fromkeys((*_entities(answer), *ends))
        mentions = {name: max(1, whole.count(f" {name} ")) for name in names}
        return Facts(mentions=mentions, triples=triples)

    def _answer(self, prompt: str) -> dict[str, Any]:
        if prompt not in self._answers:
            said = self._model.chat([Message(role="user", content=prompt)], most_tokens=MOST_TOKENS)
            self.calls += 1
            found = _object(said.text)
            self.malformed += found is None
            self._answers[prompt] = found or {}
        return self._answers[prompt]


def _object(text: str) -> dict[str, Any] | None:
    """Returns the JSON object in a reply, ignoring any text around it."""
    try:
        found = from_json(text[text.index("{") : text.rindex("}") + 1])
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _list(answer: dict[str, Any], key: str) -> list[Any]:
    found = answer.get(key)
    return found if isinstance(found, list) else []


def _entities(answer: dict[str, Any]) -> list[str]:
    named = [phrase(one) for one in _list(answer, "entities") if isinstance(one, str)]
    return [name for name in named if name]


def _triples(answer: dict[str, Any]) -> tuple[Triple, ...]:
    out = []
    for one in _list(answer, "triples"):
        if isinstance(one, list) and len(one) == 3 and all(isinstance(p, str) for p in one):
            subject, other = phrase(one[0]), phrase(one[2])
            if subject and other and subject != other:
                out.append((subject, one[1], other))
    return tuple(out)
