import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsim.index import Postings, distinct, terms

texts = st.lists(
    st.lists(st.sampled_from("rule budget gpu bread train order cable".split()), max_size=8).map(
        " ".join
    ),
    max_size=12,
)


def reference(documents: list[str], query: str) -> list[float]:
    split = [document.split() for document in documents]
    mean = max(1.0, sum(map(len, split)) / max(1, len(split)))
    out = []
    for words in split:
        score = 0.0
        for term in query.split():
            holders = sum(term in other for other in split)
            idf = math.log(1 + (len(split) - holders + 0.5) / (holders + 0.5))
            count = words.count(term)
            score += idf * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * len(words) / mean))
        out.append(score)
    return out


@given(texts, st.sampled_from(["rule", "gpu budget", "bread bread order", "nothing"]))
def test_scores_agree_with_the_formula_however_they_came(documents, query):
    postings = Postings()
    for number, document in enumerate(documents):
        postings.append(document)
        assert len(postings) == number + 1
        if number % 5 == 0:
            postings.scores(query)
    np.testing.assert_allclose(postings.scores(query), reference(documents, query), rtol=1e-4)


def test_terms_forget_case_plurals_and_stop_words():
    assert terms("The Rules of Brandauer’s switches, and the KX-204b!") == [
        "rule", "brandauer", "switche", "kx-204b",
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", "the of and", "🦜", "é"])
def test_texts_without_terms_are_documents_too(text):
    postings = Postings()
    postings.append(text)
    postings.append("budget")
    assert len(postings) == 2
    assert postings.scores("budget")[1] > 0


@given(st.lists(st.text(max_size=30), max_size=6))
def test_the_terms_of_a_document_are_those_of_its_text(texts):
    postings = Postings()
    for text in texts:
        postings.append(text)
    assert [sorted(postings.terms(n)) for n in range(len(texts))] == [
        sorted(distinct(text)) for text in texts
    ]
