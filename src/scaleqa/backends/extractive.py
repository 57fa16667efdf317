"""A reader without a language model, which only matches words.

It finds the line of the context that shares most words with the request, and the option that shares
most words with that line and its neighbours. A question without options is answered with the
sentence that shares most words with it. It exists so that everything can run without a model.
Records are written so that matching words does not find the answer, so its accuracy is not reported
anywhere.
"""

import re
from collections.abc import Mapping, Sequence

from scaleqa.backends.declaration import Access, BackendDeclaration
from scaleqa.backends.protocol import Reply, Request
from scaleqa.options import NoOptions
from tsim.toolkit import Postings, terms

NEAR = 3
SENTENCE = re.compile(r"(?<=[.!?])\s+")


class Extractive:
    """Chooses an option, or a sentence, by shared words."""

    identity = "extractive/1"
    stand_in = True

    def reply(self, request: Request) -> Reply:
        """Answers with the best-supported option or sentence, or with none if nothing matches."""
        lines = [line for line in request.context.splitlines() if terms(line)]
        if request.options:
            return Reply(text=_choice(lines, request.question, request.options))
        return Reply(text=_sentence(lines, request.question))

    def close(self) -> None:
        """Does nothing."""


def _choice(lines: Sequence[str], question: str, options: Mapping[str, str]) -> str:
    if not lines:
        return "ANSWER: none\nRATIONALE: nothing was retrieved"
    postings = _postings(lines)
    centre = int(postings.scores(question).argmax())
    weights = [1 / (1 + abs(place - centre) / NEAR) for place in range(len(lines))]
    support = {}
    for letter, option in sorted(options.items()):
        scores = postings.scores(option)
        support[letter] = sum(
            float(score) * weight for score, weight in zip(scores, weights, strict=True)
        )
    best = max(support, key=lambda letter: (support[letter], letter))
    if not support[best]:
        return "ANSWER: none\nRATIONALE: no option shares a word with the excerpts"
    return f"ANSWER: {best}\nRATIONALE: {lines[centre]}"


def _sentence(lines: Sequence[str], question: str) -> str:
    sentences = [sentence for line in lines for sentence in SENTENCE.split(line)]
    scores = _postings(sentences).scores(question)
    if not len(scores) or not scores.max():
        return "I cannot tell."
    return sentences[int(scores.argmax())].strip()


def _postings(texts: Sequence[str]) -> Postings:
    postings = Postings()
    for text in texts:
        postings.append(text)
    return postings


def _make(subject: str, options: NoOptions, access: Access) -> Extractive:
    return Extractive()


BACKEND = BackendDeclaration(
    name="extractive",
    summary="No language model: it matches words, to run everything offline.",
    example="extractive",
    options=NoOptions,
    make=_make,
    stand_in=True,
)
