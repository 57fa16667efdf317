"""The data set of logs of eight kinds."""

import json
import random
import string
from collections import Counter
from importlib import resources

import pytest

from scaleqa.datasets.logs import DATASET, shipped
from scaleqa.errors import DataError
from scaleqa.packages import check_packages
from tsim import Memory
from tsim.words import distinct

FIRST = ["coding", "team", "diary", "support"]
LATER = ["meetings", "tutor", "letters", "campaign"]
KINDS = [*FIRST, *LATER]


def threads(**options):
    return DATASET.open(options).threads()


def test_half_of_the_questions_about_each_log_are_in_other_words():
    """One was left out, because its reader found it unclear."""
    logs, sha256 = shipped()
    assert [log.name for log in logs] == KINDS
    assert len(sha256) == 64
    for log in logs:
        each = 20 if log.name in FIRST else 15
        assert Counter(one.wording for one in log.questions) == {
            "same": each, "other": each - (log.name == "coding")
        }  # fmt: skip
        assert len({one.id for one in log.questions}) == len(log.questions)
        for one in log.questions:
            assert one.evidence
            assert all(0 <= turn < len(log.turns) for turn in one.evidence), one.id


def test_other_words_are_other_words():
    """Speakers are named in questions about a channel; nothing else is shared but small words."""
    for log in shipped()[0]:
        speakers = {word for role, _ in log.turns for word in distinct(role)}
        shares = []
        for one in log.questions:
            said = {word for turn in one.evidence for word in distinct(log.turns[turn][1])}
            words = distinct(one.question) - speakers
            shares.append((one.wording, len(words & said) / max(1, len(words))))
        other = [share for wording, share in shares if wording == "other"]
        same = [share for wording, share in shares if wording == "same"]
        assert sum(other) / len(other) < 0.1 < sum(same) / len(same), log.name


def test_readers_found_what_is_asked_clear_and_its_evidence():
    """They name all of it, or the reply alone where the question before it belongs to it."""
    text = (resources.files("scaleqa.datasets") / "data" / "logs-readings.jsonl").read_text("utf-8")
    read = {reading["id"]: reading for reading in map(json.loads, text.splitlines())}
    assert len(read) == 280
    assert [name for name, reading in read.items() if reading["unclear"]] == ["coding-21"]
    whole = 0
    for log in shipped()[0]:
        for one in log.questions:
            named = {*read[one.id]["turns"]}
            assert one.evidence[-1] in named, one.id
            whole += {*one.evidence} <= named
    assert whole == 270


def test_a_thread_for_each_log_asks_what_is_wanted():
    packages = threads()
    check_packages(packages)
    assert [package.name for package in packages] == KINDS
    assert [len(package.questions) for package in packages] == [39, 40, 40, 40, 30, 30, 30, 30]
    (team,) = threads(kind="team", wording="other")
    assert {question.domain for question in team.questions} == {"team, other words"}
    assert len({turn.role for turn in team.stream}) == 6
    assert team.sha256 == threads(kind="team", wording="other")[0].sha256


def test_an_unknown_log_is_refused():
    with pytest.raises(
        DataError, match="no log 'dairy'; use one of coding, team, diary, support, meetings"
    ):
        threads(kind="dairy")


def test_nonsense_finds_nothing_in_a_log_and_its_own_questions_something(tmp_path, minilm):
    log = threads()[0]
    letters = random.Random(3)
    drawn = ["".join(letters.choices(string.ascii_lowercase, k=9)) for _ in range(30)]
    with Memory.open(tmp_path / "m.db", model=minilm) as memory:
        thread = memory.thread("a")
        thread.add_many((turn.role, turn.text) for turn in log.stream)
        for query in ["z" * 15, "x" * 3000, "qwertyuiop" * 50, "0" * 3000, " ".join(drawn)]:
            assert thread.search(query) == [], query[:20]
        found = [bool(thread.search(one)) for one in drawn]
        assert sum(found) <= 3, "single words that nobody said"
        assert all(thread.search(question.question) for question in log.questions)
