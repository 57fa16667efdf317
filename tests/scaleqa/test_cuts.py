"""Cuts: measures of segmentation, and rules against where readers saw a topic shift."""

import json
import random
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaleqa.datasets.tiage import Chat, load_chats
from scaleqa.errors import DataError
from scaleqa.evaluate.cuts import (
    best_threshold,
    compare_rules,
    drift_alone,
    embedded,
    every,
    judge,
    late_causal,
)
from scaleqa.pages.markdown import to_markdown
from scaleqa.report.cuts import cuts_page
from scaleqa.stats import exact_f1, half_segment, pk, window_diff
from tsim.presets import LATE

WORDS = "budget letter rule gpu bread train project only new says".split()


def gaps(text):
    return tuple(mark == "|" for mark in text)


def test_pk_and_window_diff_by_hand():
    wanted = gaps("..|..|..")
    assert pk(wanted, wanted, 2) == window_diff(wanted, wanted, 2) == 0
    # Seven windows of two gaps; each cut lies in two of them.
    assert pk(wanted, gaps("........"), 2) == window_diff(wanted, gaps("........"), 2) == 4 / 7
    # One gap off: the window that leaves the wanted cut and the one that reaches the found one.
    assert pk(wanted, gaps(".|...|.."), 2) == window_diff(wanted, gaps(".|...|.."), 2) == 2 / 7
    # A doubled cut: Pk sees one window, WindowDiff the one with two cuts as well.
    assert pk(wanted, gaps("..||.|.."), 2) == 1 / 7
    assert window_diff(wanted, gaps("..||.|.."), 2) == 2 / 7


def slow_pk(wanted, found, k):
    """Straight from the definition: are two items k apart in one segment?"""

    def labels(cuts):
        out = [0]
        for cut in cuts:
            out.append(out[-1] + cut)
        return out

    one, two = labels(wanted), labels(found)
    pairs = [(i, i + k) for i in range(len(one) - k)]
    return sum((one[i] == one[j]) != (two[i] == two[j]) for i, j in pairs) / len(pairs), sum(
        one[j] - one[i] != two[j] - two[i] for i, j in pairs
    ) / len(pairs)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30), st.data())
def test_both_agree_with_their_definition(pairs, data):
    wanted, found = [a for a, _ in pairs], [b for _, b in pairs]
    k = data.draw(st.integers(1, len(pairs)))
    assert (pk(wanted, found, k), window_diff(wanted, found, k)) == slow_pk(wanted, found, k)
    assert pk(wanted, found, k) <= window_diff(wanted, found, k)


def test_both_agree_with_nltk():
    nltk = pytest.importorskip("nltk.metrics.segmentation", reason="nltk is not installed")
    rng = random.Random(3)
    for _ in range(50):
        wanted, found = (tuple(rng.random() < 0.3 for _ in range(20)) for _ in range(2))
        one, two = ("".join(str(int(c)) for c in cuts) for cuts in (wanted, found))
        assert pk(wanted, found, 3) == pytest.approx(nltk.pk(one, two, 3))
        assert window_diff(wanted, found, 3) == pytest.approx(nltk.windowdiff(one, two, 3))


def test_windows_that_do_not_fit_are_refused():
    for k in (0, 4):
        with pytest.raises(ValueError, match="no window"):
            pk(gaps("..."), gaps("..."), k)
    with pytest.raises(ValueError, match="equally many"):
        window_diff(gaps(".."), gaps("..."), 1)


def test_half_segment_and_exact_f1():
    assert half_segment([gaps("..|..|.."), gaps("...")]) == 2  # 13 items, 4 segments: 1.6
    assert half_segment([]) == 1
    assert exact_f1([gaps("|.|")], [gaps("||.")]) == 0.5
    assert exact_f1([gaps("...")], [gaps("...")]) == 0


def chat(name, topics, length=3):
    texts = tuple(f"{topic} {topic} {WORDS[n]}" for topic in topics for n in range(length))
    shifts = tuple((n + 1) % length == 0 for n in range(len(texts) - 1))
    return Chat(id=name, texts=texts, shifts=shifts)


def published(chats):
    return {
        one.id: [
            [text, label]
            for text, label in zip(
                one.texts, ["-1", *("01"[shift] for shift in one.shifts)], strict=True
            )
        ]
        for one in chats
    }


CHATS = [chat("1", ["bread", "gpu", "letter"]), chat("2", ["train", "budget"], 4)]


@pytest.fixture
def tiage(tmp_path):
    for name in ("anno_dev.json", "anno_test.json"):
        (tmp_path / name).write_text(json.dumps(published(CHATS)), "utf-8")
    return tmp_path


def test_chats_are_read_with_the_shift_before_the_labelled_turn(tiage):
    loaded = load_chats(tiage / "anno_test.json")
    assert loaded.chats == tuple(CHATS)
    assert loaded.chats[1].shifts == gaps("...|...")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "not TIAGE as published"),
        ("{}", "holds no chat"),
        ('{"1": [["hello", "2"]]}', r"1\.0\.1"),
        ('{"1": [["hello", "-1"], ["you", "1"]]}', "less than three turns"),
    ],
)
def test_other_chats_are_refused(tmp_path, content, message):
    (tmp_path / "anno_test.json").write_text(content, "utf-8")
    with pytest.raises(DataError, match=message):
        load_chats(tmp_path / "anno_test.json")
    with pytest.raises(DataError, match=r"expected TIAGE's directory with anno_dev\.json"):
        load_chats(tmp_path / "anno_dev.json")


@pytest.fixture
def ready(tiny_embedder):
    return [embedded(one, tiny_embedder.embed(one.texts)) for one in CHATS]


def test_causal_confidences_know_nothing_of_later_turns(ready):
    for one in ready:
        for length in range(3, len(one.vectors)):
            short = Chat(id="", texts=one.chat.texts[:length], shifts=one.chat.shifts[: length - 1])
            cut = embedded(short, one.vectors[:length])
            assert cut.causal == one.causal[: length - 1]
            assert cut.settled[:-1] == pytest.approx(one.settled[: length - 2])
        # With nothing behind the last gap both are the same.
        assert one.causal[-1] == pytest.approx(one.settled[-1])
        assert one.causal != one.settled


def test_thresholds_cut_everywhere_or_nowhere_at_their_ends(ready):
    for one in ready:
        assert all(late_causal(0.0)(one))
        assert not any(late_causal(1.01)(one))
        assert all(drift_alone(1.1)(one))
        assert not any(drift_alone(-1.1)(one))
        assert every(3)(one)[:6] == gaps("..|..|")


def test_the_best_threshold_is_the_lowest_of_least_pk(ready):
    found = best_threshold(ready, late_causal, 2)
    pks = {n / 200: judge("", ready, late_causal(n / 200), 2).pk for n in range(201)}
    least = min(pks.values())
    assert pks[found] == pytest.approx(least)
    assert all(value > least + 1e-9 for threshold, value in pks.items() if threshold < found)


def test_rules_are_compared_the_same_way_twice(ready):
    k, found = compare_rules(ready, ready, 4)
    assert (k, found) == compare_rules(ready, ready, 4)
    assert k == 2
    rules = {one.rule: one for one in found}
    assert rules["never"].cuts == 0
    assert rules["every 3 turns"].pk < rules["never"].pk
    assert rules["late, causal"].threshold == LATE.settings.boundary.cut_confidence
    assert rules["late, causal, tuned on dev"].pk <= rules["late, causal"].pk
    page = to_markdown(cuts_page(found, k, {"anno_test.json": "abc"}, "x", "tiny"), "tiage")
    assert page.count("\n| ") == len(found) + 1


def test_the_command_prints_json_and_writes_a_page(tiage, tiny, tmp_path):
    call = [sys.executable, "-c", "from scaleqa.cli.app import main; main()", "cuts"]
    ran = subprocess.run(
        [*call, str(tiage), "--model", str(tiny), "--json", "--table", "tiage.md"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert ran.returncode == 0, ran.stderr
    assert len(json.loads(ran.stdout)["rules"]) == 10
    assert "| never |" in (tmp_path / "tiage.md").read_text("utf-8")


def test_the_published_chats_have_the_shifts_they_are_known_for(shared):
    path = shared / "data" / "tiage" / "anno_test.json"
    if not path.is_file():
        pytest.skip(f"TIAGE is not at {path}")
    chats = load_chats(path).chats
    assert (len(chats), sum(sum(one.shifts) for one in chats)) == (100, 315)
