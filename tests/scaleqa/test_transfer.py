"""Other people's data: threads hold what they should, and cuts are judged as they should be."""

import gzip
import hashlib
import json
import random
import subprocess
import sys
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scaleqa.transfer import (
    Chat,
    choose,
    compare_rules,
    compile_threads,
    embedded,
    load_chats,
    load_release,
    measure,
)
from scaleqa.transfer.cuts import best_threshold, drift_alone, every, judge, late_causal
from scaleqa.transfer.pages import Origin, longmemeval_page, tiage_page

from scaleqa.errors import DataError
from scaleqa.specs import Spec
from scaleqa.stats import exact_f1, half_segment, pk, window_diff
from scaleqa.systems import Asked, Tools, open_system, with_budget
from tests.support.threads import thread
from tsim.presets import LATE

WORDS = "budget letter rule gpu bread train project only new says".split()


def session(name, *, marked=(), turns=4):
    rng = random.Random(name)
    return [
        {
            "role": ("user", "assistant")[n % 2],
            "content": f"{name} turn {n} " + " ".join(rng.choices(WORDS, k=8)),
            "has_answer": n in marked,
        }
        for n in range(turns)
    ]


def question(name, *, kind="multi-session", marked=((1,), (2,)), sessions=2):
    ids = [f"{name}-{n}" for n in range(sessions)]
    return {
        "question_id": name,
        "question_type": kind,
        "question": f"which rule of {name}?",
        "answer": 3,
        "question_date": "2023/06/01 (Thu) 10:00",
        # The file has the newest session first.
        "haystack_dates": [f"2023/05/{20 - n:02} (Sat) 10:00" for n in range(sessions)],
        "haystack_session_ids": ids,
        "haystack_sessions": [session(i, marked=m) for i, m in zip(ids, marked, strict=True)],
        "answer_session_ids": ids,
    }


def oracle_form():
    bare = question("q8", marked=((), ()))
    return [question(f"q{n}") for n in range(6)] + [question("q7_abs"), bare]


@pytest.fixture
def write(tmp_path):
    def write(questions, name="release.json"):
        path = tmp_path / name
        content = json.dumps(questions).encode()
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return write


def threads(path, *, target=200, seed=0, subset=None):
    release = load_release(path)
    chosen = choose(release.questions, subset, seed)
    return compile_threads(release, chosen.questions, target=target, seed=seed)


def test_plain_and_gzipped_files_are_the_same_release(write):
    plain = load_release(write(oracle_form()))
    assert load_release(write(oracle_form(), "release.json.gz")) == plain
    assert plain.oracle
    assert plain.sha256 == hashlib.sha256(json.dumps(oracle_form()).encode()).hexdigest()


def test_questions_that_cannot_be_measured_are_left_out_and_counted(write):
    chosen = choose(load_release(write(oracle_form())).questions, None, 0)
    assert [q.question_id for q in chosen.questions] == [f"q{n}" for n in range(6)]
    assert (chosen.abstentions, chosen.unmarked) == (1, 1)


def test_subsets_of_a_seed_are_nested_and_keep_the_order_of_the_file(write):
    questions = load_release(write(oracle_form())).questions
    names = [[q.question_id for q in choose(questions, n, 5).questions] for n in range(1, 7)]
    for fewer, more in pairwise(names):
        assert {*fewer} < {*more}
        assert more == sorted(more)
    assert choose(questions, 3, 5) == choose(questions, 3, 5)


def test_a_thread_holds_its_own_sessions_by_date_among_others_within_the_target(write):
    for package in threads(write(oracle_form())):
        (query,) = package.questions
        assert package.stats["tokens"] <= 200
        assert [block.source for block in package.truth] == [f"{query.id}-1", f"{query.id}-0"]
        assert package.noise
        assert not any(block.source.startswith(f"{query.id}-") for block in package.noise)
        # Sessions stay whole and follow each other.
        blocks = sorted(package.truth + package.noise, key=lambda block: block.turns)
        assert [t for block in blocks for t in block.turns] == list(range(len(package.stream)))


def test_evidence_is_where_the_marked_turns_of_the_question_went(write):
    for package in threads(write(oracle_form())):
        (query,) = package.questions
        texts = [package.stream[turn].text for turn in query.evidence]
        assert [text.split(" turn ")[0] for text in texts] == [f"{query.id}-1", f"{query.id}-0"]
        assert [text.split()[2] for text in texts] == ["2", "1"]


def test_a_session_published_under_two_ids_never_stands_beside_itself(write):
    questions = oracle_form()
    copy = question("q9")
    copy["haystack_sessions"] = questions[0]["haystack_sessions"]
    package = threads(write([*questions, copy]), target=550)[0]
    texts = [turn.text for turn in package.stream]
    assert len(texts) == len({*texts})


def test_the_same_seed_gives_the_same_threads_whatever_else_is_asked(write):
    path = write(oracle_form())
    assert threads(path) == threads(path)
    by_name = {package.name: package for package in threads(path)}
    assert all(package == by_name[package.name] for package in threads(path, subset=2))
    assert threads(path, seed=1) != threads(path)


def test_turns_tell_nothing_of_sessions(write):
    """A system gets numbers in a row, two roles and the text as published: no id, date or mark."""
    said = {t["content"] for q in oracle_form() for s in q["haystack_sessions"] for t in s}
    for package in threads(write(oracle_form())):
        assert [turn.id for turn in package.stream] == list(range(len(package.stream)))
        assert {turn.role for turn in package.stream} == {"user", "model"}
        assert {turn.text for turn in package.stream} <= said
        assert set(type(package.stream[0]).__slots__) == {"id", "role", "text"}


def test_published_histories_are_used_as_they_are(write):
    one = question("q1", marked=((1,), (), (0, 2)), sessions=3)
    one["answer_session_ids"] = ["q1-0", "q1-2"]
    one["haystack_sessions"][1][0]["content"] = "  "
    path = write([one])
    assert not load_release(path).oracle
    (package,) = threads(path)
    assert [turn.text.split()[0] for turn in package.stream] == (
        ["q1-0"] * 4 + ["q1-1"] * 3 + ["q1-2"] * 4
    )
    assert package.questions[0].evidence == (1, 7, 9)


def test_too_few_sessions_for_the_target_are_refused(write):
    with pytest.raises(DataError, match=r"less than the target of 115,000; set --target lower"):
        threads(write(oracle_form()), target=115_000)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{}", "not LongMemEval as published"),
        (b"[]", "holds no question"),
        (b"\x1f\x8bxx", "not LongMemEval as published"),
        (json.dumps([{**question("q1"), "haystack_dates": []}]).encode(), "differ in length"),
        (json.dumps([question("q1"), question("q1")]).encode(), "q1 is there twice"),
        (json.dumps([{"question_id": "q1"}]).encode(), r"0\.question_type"),
    ],
)
def test_other_files_are_refused(tmp_path, content, message):
    path = tmp_path / "file.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        load_release(path)
    with pytest.raises(DataError, match="cannot be read"):
        load_release(tmp_path / "nothing.json")


def test_questions_without_any_mark_are_refused(write):
    with pytest.raises(DataError, match="no evidence to look for"):
        threads(write([question("q1", marked=((), ()))]))


def test_systems_are_measured_by_type_and_against_the_first(write, tiny_embedder):
    questions = [question(f"q{n}", kind=("a", "b")[n % 2]) for n in range(6)]
    path = write(questions)
    packages = threads(path)
    first = measure(packages, "full_context", tiny_embedder)
    second = measure(packages, "zero_shot", tiny_embedder, first=first)
    assert (first.in_context.found, second.in_context.found) == (6, 0)
    assert {name: share.questions for name, share in first.by_type.items()} == {"a": 3, "b": 3}
    assert first.against is None
    assert second.against.difference.difference == -1
    assert second.against.mcnemar_p == pytest.approx(2 / 2**6)
    release = load_release(path)
    page = longmemeval_page(
        [first, second],
        packages,
        release,
        choose(release.questions, None, 0),
        Origin(command="scaleqa transfer", model="tiny"),
    )
    assert release.sha256 in page
    assert (
        "| zero_shot | 0.000 | 0.000–0.390 | 0.000 | 0 | -1.000 | -1.000 to -1.000 | 0.031 |"
        in (page)
    )


def test_a_budget_goes_to_systems_that_take_one_and_name_none():
    assert with_budget("tsim", 900) == "tsim:budget=900"
    assert with_budget("tsim:budget=50", 900) == "tsim:budget=50"
    assert with_budget("hybrid_rrf:depth=9", 900) == "hybrid_rrf:depth=9,budget=900"
    assert with_budget("standard_rag", 900) == "standard_rag"


def chunks(turns, **options):
    spec = Spec(name="bm25_chunks", options=options)
    system = open_system(str(spec), Tools(embedder=None))
    system.ingest(turns)
    return system


def asked(text):
    return Asked(id="q", question=text, options={})


def test_bm25_chunks_are_whole_turns_within_the_size():
    texts = ["one two", "three four", "five " * 30, "six seven eight"]
    found = chunks(thread(texts), size=8, k=9).retrieve(asked("one five six"))
    # Each text ends with its number: three words and three make eight tokens.
    assert sorted(unit.turns for unit in found.units) == [(0, 1), (2,), (3,)]


def test_bm25_chunks_return_the_best_and_nothing_without_a_common_word():
    system = chunks(thread(["gpu gpu rule", "bread", "gpu letter", "train"]), size=4, k=2)
    assert [unit.turns for unit in system.retrieve(asked("which gpu rule?")).units] == [(0,), (2,)]
    assert system.retrieve(asked("nothing alike")).units == ()
    assert chunks([], size=4, k=2).retrieve(asked("gpu")).units == ()


def test_bm25_chunks_do_not_depend_on_the_pieces_they_came_in():
    whole, pieces = chunks(thread(), size=30, k=3), chunks([], size=30, k=3)
    for turn in thread():
        pieces.ingest([turn])
        pieces.retrieve(asked("gpu"))
    assert pieces.retrieve(asked("which gpu rule?")) == whole.retrieve(asked("which gpu rule?"))


def test_packed_turns_keep_their_budget_and_pass_over_long_turns_only_if_told(tiny_embedder):
    turns = thread(["which gpu rule " * 10, "bread and train", "only one letter"])

    def shown(**options):
        spec = Spec(name="packed_turns", options=options)
        system = open_system(str(spec), Tools(embedder=tiny_embedder))
        system.ingest(turns)
        found = system.retrieve(asked("which gpu rule?"))
        assert len(found.context.split()) * 1.3 <= options["budget"] + 0.5
        return [turn for unit in found.units for turn in unit.turns]

    assert sorted(shown(budget=200)) == [0, 1, 2]
    assert shown(budget=200, long=1)[-1] == 0
    assert shown(budget=45, long=0) == [0]
    assert sorted(shown(budget=45, long=1)) == [1, 2]


# Segmentation ------------------------------------------------------------------------------------


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
    page = tiage_page(found, k, {"anno_test.json": "abc"}, Origin(command="x", model="tiny"))
    assert page.count("\n| ") == len(found) + 1


def test_the_commands_print_json_and_write_pages(tiage, write, tiny, tmp_path):
    def scaleqa(*words):
        call = [sys.executable, "-c", "from scaleqa.cli.app import main; main()", "transfer"]
        return subprocess.run(
            [*call, *words], capture_output=True, text=True, check=False, cwd=tmp_path
        )

    ran = scaleqa("tiage", str(tiage), "--model", str(tiny), "--json", "--table", "tiage.md")
    assert ran.returncode == 0, ran.stderr
    assert len(json.loads(ran.stdout)["rules"]) == 10
    assert "| never |" in (tmp_path / "tiage.md").read_text("utf-8")
    file = write(oracle_form(), "release.json.gz")
    ran = scaleqa(
        "longmemeval", str(file), "--target", "200", "--model", str(tiny), "--json",
        "--system", "tsim,standard_rag", "--budget", "60", "--subset", "3",
        "--out", "rows.jsonl", "--table", "page.md",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    printed = json.loads(ran.stdout)
    assert printed["questions"] == 3
    assert [one["system"] for one in printed["systems"]] == ["tsim:budget=60", "standard_rag"]
    rows = (tmp_path / "rows.jsonl").read_text("utf-8").splitlines()
    assert len(rows) == 6
    page = (tmp_path / "page.md").read_text("utf-8")
    assert "scaleqa transfer longmemeval release.json.gz" in page
    assert str(tmp_path) not in page
    ran = scaleqa("longmemeval", str(tmp_path / "no.json"), "--json")
    assert ran.returncode == 1
    assert json.loads(ran.stdout)["error"]["kind"] == "bad_data"


def test_the_published_oracle_file_gives_the_papers_470_questions(shared):
    path = shared / "data" / "longmemeval_oracle.json.gz"
    if not path.is_file():
        pytest.skip(f"LongMemEval is not at {path}")
    release = load_release(path)
    chosen = choose(release.questions, None, 0)
    assert release.oracle
    assert (len(chosen.questions), chosen.abstentions, chosen.unmarked) == (470, 30, 0)
    for package in compile_threads(release, chosen.questions[:20], target=115_000, seed=0):
        assert 105_000 < package.stats["tokens"] <= 115_000
        assert package.questions[0].evidence


def test_the_published_chats_have_the_shifts_they_are_known_for(shared):
    path = shared / "data" / "tiage" / "anno_test.json"
    if not path.is_file():
        pytest.skip(f"TIAGE is not at {path}")
    chats = load_chats(path).chats
    assert (len(chats), sum(sum(one.shifts) for one in chats)) == (100, 315)
