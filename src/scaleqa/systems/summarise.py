"""Summaries, by a chat model or by extracting the most central sentences."""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from scaleqa.backends import ChatModel, Message
from tsim.toolkit import terms, tokens

SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
DAMPING = 0.85
ROUNDS = 50
PROMPT = (
    "Summarise the following pieces of a conversation in at most {words} words. Keep names, "
    "numbers, dates, rules and exceptions.\n\n{text}"
)


def summarise(texts: Sequence[str], most_tokens: int, model: ChatModel | None = None) -> str:
    """Summarises texts with a model if there is one, otherwise by LexRank.

    LexRank keeps the sentences that have most in common with all others, whole and in their order,
    up to the limit.
    """
    if model is not None:
        words = tokens.words_within(most_tokens)
        prompt = PROMPT.format(words=words, text="\n".join(texts))
        said = model.chat([Message(role="user", content=prompt)], most_tokens=2 * most_tokens)
        return said.text.strip()
    sentences = list(dict.fromkeys(s.strip() for t in texts for s in SENTENCE.split(t) if terms(s)))
    kept: list[int] = []
    left = most_tokens
    for place in _central(sentences):
        price = tokens.by_words(sentences[place])
        if price <= left:
            kept.append(place)
            left -= price
    return " ".join(sentences[place] for place in sorted(kept))


def _central(sentences: Sequence[str]) -> list[int]:
    """Orders sentences by LexRank: the stationary weight of a walk along idf-cosine similarity."""
    if not sentences:
        return []
    counts = [Counter(terms(sentence)) for sentence in sentences]
    seen = Counter(term for count in counts for term in count)
    number = {term: place for place, term in enumerate(seen)}
    weights = np.zeros((len(sentences), len(number)))
    for row, count in enumerate(counts):
        for term, times in count.items():
            weights[row, number[term]] = times * np.log(1 + len(sentences) / seen[term])
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    walk = weights @ weights.T
    walk /= walk.sum(axis=1, keepdims=True)
    rank = np.full(len(sentences), 1 / len(sentences))
    for _ in range(ROUNDS):
        rank = (1 - DAMPING) / len(sentences) + DAMPING * (rank @ walk)
    return sorted(range(len(sentences)), key=lambda place: (-round(float(rank[place]), 12), place))
