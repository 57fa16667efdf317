"""Words that judges compare: normalisation, token F1, LoCoMo's convention, stems."""

import json
import string
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scaleqa.errors import DataError
from scaleqa.judges import Task, judges, open_judge
from scaleqa.judges.locomo import score
from scaleqa.judges.porter import stem
from scaleqa.judges.words import overlap, words_of
from scaleqa.testing import JudgeConformance

GOLDEN = Path(__file__).parent / "golden" / "verdicts.json"
WORDS = st.lists(st.sampled_from("lyon paris in may 7 rent is".split()), max_size=8)


@given(st.text())
@example("ß ½ ﬁ ǅ")
@example("-3 − 3, x.5 1,000.50")
def test_normalising_twice_changes_nothing(text):
    once = words_of(text)
    assert words_of(" ".join(once)) == once


@given(WORDS, st.sampled_from(["{}", " {}. ", "“{}!”", "the {}", "{}\n"]))
def test_case_punctuation_articles_and_spaces_do_not_matter(words, form):
    written = form.format("  ".join(words).upper())
    assert words_of(written) == words


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1,000 steps", "1000 steps"),
        ("seven days", "7 days"),
        ("$7.50", "7.5"),
        ("the user’s flat", "users flat"),
        ("well-known", "well known"),
        ("007", "7"),
        ("ＬＹＯＮ", "lyon"),
    ],
)
def test_spellings_of_the_same_are_the_same(one, other):
    assert words_of(one) == words_of(other)


@pytest.mark.parametrize(
    ("one", "other"), [("-3", "3"), ("3.5", "35"), ("का", "की"), ("12", "1 2"), ("café", "cafe")]
)
def test_what_means_something_else_stays_apart(one, other):
    assert words_of(one) != words_of(other)


def test_normalised_is_more_lenient_than_exact():
    task = Task(question="?", gold="the old port of Lyon")
    reply = "ANSWER: Old port, of the Lyon"
    assert open_judge("normalised").grade(task, reply).correct
    assert not open_judge("exact").grade(task, reply).correct


@given(WORDS, WORDS)
def test_f1_is_symmetric_and_one_for_the_same_words_alone(one, two):
    value = overlap(one, two)
    assert value == overlap(two, one)
    assert 0 <= value <= 1
    assert (value == 1) == (bool(one) and sorted(one) == sorted(two))
    assert (value == 0) == (not {*one} & {*two})


@given(WORDS, WORDS)
def test_f1_is_the_harmonic_mean_of_precision_and_recall(one, two):
    common = sum(min(one.count(word), two.count(word)) for word in {*one})
    if common:
        precision, recall = common / len(one), common / len(two)
        expected = 2 * precision * recall / (precision + recall)
        assert overlap(one, two) == pytest.approx(expected)


def test_the_threshold_of_f1_decides():
    task, reply = Task(question="?", gold="a flat in Lyon"), "ANSWER: Lyon"
    verdict = open_judge("f1").grade(task, reply)
    assert (verdict.score, verdict.correct) == (0.5, True)
    assert not open_judge("f1:threshold=0.51").grade(task, reply).correct
    with pytest.raises(DataError, match=r"threshold=0 of f1 should be float, above 0 and at most"):
        open_judge("f1:threshold=0")


def test_locomo_compares_lists_part_by_part_and_leaves_out_what_follows_a_semicolon():
    several = Task(question="?", gold="hiking, pottery", kind="multi-hop")
    assert score(several, "She hikes, paints, and makes pottery") == pytest.approx(
        (2 / 3 + 2 / 3) / 2
    )
    opinion = Task(question="?", gold="Likely no; she prefers the sea", kind="open-domain")
    assert score(opinion, "likely no") == 1
    plain = Task(question="?", gold="Likely no; she prefers the sea", kind="single-hop")
    assert score(plain, "likely no") < 1
    absent = Task(question="?", gold="", kind="adversarial", absent=True)
    assert score(absent, "This was not mentioned.") == 1
    assert score(absent, "In Lyon") == 0


@given(st.text(alphabet=string.ascii_lowercase, min_size=1, max_size=14))
@example("alli")
@example("skies")
@example("radically")
@example("geologi")
@example("dies")
@example("tied")
def test_stems_are_those_of_nltk(word):
    porter = pytest.importorskip("nltk.stem.porter", reason="nltk is not installed")
    assert stem(word) == porter.PorterStemmer().stem(word)


def test_verdicts_are_those_of_the_golden_file():
    """Another verdict on the same words needs another identity."""
    for case in json.loads(GOLDEN.read_text("utf-8")):
        task = Task(**case["task"])
        found = {
            name: [
                open_judge(name).identity,
                open_judge(name).grade(task, case["reply"]).correct,
                open_judge(name).grade(task, case["reply"]).score,
            ]
            for name in case["verdicts"]
        }
        assert found == case["verdicts"], case["reply"]


class TestLetter(JudgeConformance):
    gold = "B"
    options = {"A": "Paris", "B": "Lyon"}  # noqa: RUF012

    def open_judge(self, model):
        return open_judge("letter", model)


class TestExact(JudgeConformance):
    def open_judge(self, model):
        return open_judge("exact", model)


class TestNormalised(JudgeConformance):
    def open_judge(self, model):
        return open_judge("normalised", model)


class TestF1(JudgeConformance):
    def open_judge(self, model):
        return open_judge("f1", model)


class TestF1AsInLocomo(JudgeConformance):
    kind = "multi-hop"

    def open_judge(self, model):
        return open_judge("f1:convention=locomo", model)


class TestModel(JudgeConformance):
    def open_judge(self, model):
        return open_judge("judge", model)


class TestLongMemEval(JudgeConformance):
    kind = "multi-session"
    reads_forms = False

    def open_judge(self, model):
        return open_judge("longmemeval", model)


def test_every_judge_passes_the_suite():
    suites = {"letter", "exact", "normalised", "f1", "judge", "longmemeval"}
    assert {one.name for one in judges()} == suites
