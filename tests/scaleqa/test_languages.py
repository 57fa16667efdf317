"""The data set of asides in eleven languages."""

from collections import Counter

import pytest

from scaleqa.datasets.languages import DATASET, shipped
from scaleqa.errors import DataError
from scaleqa.packages import check_packages
from tsim.words import distinct

CODES = "ar de en es fr hi ja ko pt ru zh".split()


def threads(**options):
    return DATASET.open({name: str(value).lower() for name, value in options.items()}).threads()


def test_twenty_facts_in_each_of_eleven_languages():
    dialogues, _ = shipped()
    assert Counter(one.language for one in dialogues) == dict.fromkeys(CODES, 20)
    assert len({one.id for one in dialogues}) == len({one.turns for one in dialogues}) == 220
    for one in dialogues:
        assert one.language in one.questions
        assert one.evidence == 2
        assert len(one.turns) == 4
        others = {*one.questions} - {one.language}
        assert others == ({*CODES} - {"en"} if one.language == "en" else {"en"})


def test_questions_are_in_other_words():
    """At most a fifth of a question's words are in its evidence turn, over each language."""
    for code in CODES:
        shares = [
            len(distinct(one.questions[code]) & distinct(one.turns[one.evidence]))
            / max(1, len(distinct(one.questions[code])))
            for one in shipped()[0]
            if one.language == code
        ]
        assert sum(shares) / len(shares) < 0.2, code


def test_a_thread_for_each_language_asks_about_its_own_turns():
    packages = threads()
    check_packages(packages)
    assert [package.name for package in packages] == CODES
    for package in packages:
        assert len(package.stream) == 80
        assert len(package.questions) == 20
        said = {turn.id: turn for turn in package.stream}
        assert all(said[q.evidence[0]].role == "user" for q in package.questions)


def test_questions_across_languages():
    packages = threads(asked="other")
    assert [len(package.questions) for package in packages] == [
        200 if c == "en" else 20 for c in CODES
    ]
    (german,) = threads(asked="other", language="de")
    assert {question.domain for question in german.questions} == {"de asked in en"}


def test_a_mixed_thread_is_the_same_every_time():
    (first,), (again,) = threads(mixed=True), threads(mixed=True)
    assert first.sha256 == again.sha256
    assert len(first.stream) == 880
    assert [turn.text for turn in first.stream] != [
        turn.text for turn in threads(mixed=True, seed=24)[0].stream
    ]


def test_an_unknown_language_is_refused():
    with pytest.raises(DataError, match="no dialogues in 'xx'; use one of ar, de"):
        threads(language="xx")
