"""Data sets: LongMemEval as flat threads, ours by name, and one of somebody's own."""

import gzip
import hashlib
import json
import random
import subprocess
import sys
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from typer.testing import CliRunner

from scaleqa.cli.app import app
from scaleqa.datasets import dataset_names, open_dataset, open_threads
from scaleqa.datasets.longmemeval import choose, compile_threads, load_release
from scaleqa.errors import DataError
from scaleqa.evaluate import RunSettings, run_packages
from scaleqa.figures.retrieval import against, in_context_by, retrieval
from scaleqa.packages import (
    Package,
    Question,
    StreamTurn,
    check_packages,
    load_packages,
    write_packages,
)
from scaleqa.pages.markdown import to_markdown
from scaleqa.report.retrieval import retrieval_page
from scaleqa.systems import Asked, Tools, open_system
from scaleqa.testing import WordEmbedder

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
        assert {turn.at for turn in package.stream} == {None}
        assert set(type(package.stream[0]).__slots__) == {"id", "role", "text", "at"}


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
    with pytest.raises(DataError, match=r"less than the target of 115,000; choose a lower target"):
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
    rows = {
        system: run_packages(packages, RunSettings(system=system), tiny_embedder)
        for system in ("full_context", "zero_shot")
    }
    first, second = rows.values()
    assert (retrieval(first).in_context.found, retrieval(second).in_context.found) == (6, 0)
    types = in_context_by(first, lambda row: row.domain)
    assert {name: share.questions for name, share in types.items()} == {"a": 3, "b": 3}
    found = against(second, first)
    assert found.difference.difference == -1
    assert found.mcnemar_p == pytest.approx(2 / 2**6)
    page = to_markdown(retrieval_page(rows, packages, "scaleqa retrieve"), "page")
    assert load_release(path).sha256 in page
    assert (
        "| zero_shot | 0.000 | 0.000–0.390 | 0.000 | 0 | -1.000 | -1.000 to -1.000 | 0.031 |"
        in (page)
    )


def test_questions_of_others_have_what_they_have_and_nothing_else(write):
    path = write([question("q0", kind="temporal"), *oracle_form()[1:]])
    package = open_threads(f"longmemeval:file={path},target=200")[0]
    (asked,) = package.questions
    assert (asked.domain, asked.answer, asked.grader) == ("temporal", "3", "judge")
    assert (asked.options, asked.split, asked.stress, asked.reasoning) == (None, None, (), None)
    assert package.settings["dataset"] == "longmemeval"
    assert package.settings["left_out"] == {"abstentions": 1, "unmarked": 1}


def test_packages_of_any_data_set_are_written_and_read_back(write, tmp_path):
    path = write(oracle_form())
    spec = f"longmemeval:file={path},target=200,subset=3"
    ran = CliRunner().invoke(app, ["build", "--dataset", spec, "--out", str(tmp_path / "out")])
    assert ran.exit_code == 0, ran.output
    made = open_threads(spec)
    assert sorted(load_packages(tmp_path / "out"), key=lambda one: one.name) == sorted(
        made, key=lambda one: one.name
    )
    line = json.loads((tmp_path / "out" / made[0].name / "EVALUATION_QUERIES.jsonl").read_text())
    assert not {"options", "split", "stress", "reasoning"} & {*line}


def test_options_of_our_own_do_not_apply_to_another_data_set(tmp_path):
    words = ["build", "--dataset", "longmemeval:file=x", "--target", "16k", "--out", str(tmp_path)]
    ran = CliRunner().invoke(app, words)
    assert "do not apply to longmemeval:file=x" in str(ran.exception)
    assert not [*tmp_path.iterdir()]


def test_our_own_records_are_one_data_set_among_others():
    assert dataset_names() == [
        "languages", "locomo", "locomo_plus", "logs", "longmemeval", "realtalk", "scaleqa"
    ]  # fmt: skip
    (package,) = open_threads("scaleqa:target=0,subset=8,split=s1")
    assert len(package.questions) == 8
    assert {question.split for question in package.questions} == {"s1"}
    assert {question.grader for question in package.questions} == {"letter"}


@pytest.mark.parametrize(
    ("where", "message"),
    [
        (
            "nowhere",
            r"neither a directory of packages nor a data set "
            r"\(languages, locomo, locomo_plus, logs, longmemeval, realtalk, scaleqa\)",
        ),
        ("longmemevil:file=x", r"no data set 'longmemevil'; did you mean longmemeval\?"),
        ("scaleqa:subset=none", "option subset=none of scaleqa should be"),
        ("scaleqa:size=3", "unknown option 'size' of scaleqa; there are target"),
        ("longmemeval", "longmemeval needs option file"),
        ("longmemeval:file=/no/such", "cannot be read"),
    ],
)
def test_what_is_no_data_set_says_what_to_write(where, message):
    with pytest.raises(DataError, match=message):
        open_threads(where)


OWN = """
from dataclasses import dataclass

from scaleqa.datasets import DataSetDeclaration
from scaleqa.options import NoOptions
from scaleqa.packages import Package, Question, StreamTurn


class Facts:
    name = "facts"

    def threads(self):
        said = ("I live in Lyon.", "Noted.", "The cat is called Moka.")
        stream = tuple(
            StreamTurn(id=n, role=("user", "model")[n % 2], text=text)
            for n, text in enumerate(said)
        )
        asked = Question(
            id="q1", question="Where do I live?", answer="Lyon", grader="exact", evidence=(0,)
        )
        settings = {"dataset": "facts"}
        return [
            Package(
                name="facts", stream=stream, questions=(asked,), truth=(), noise=(),
                settings=settings,
            )
        ]


DATASET = DataSetDeclaration(
    name="facts", summary="Two facts.", options=NoOptions, make=lambda _: Facts(), example="facts",
)
"""


def test_a_data_set_is_one_file(tmp_path, tiny, monkeypatch):
    monkeypatch.setenv("TSIM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TSIM_MODEL", str(tiny))
    (tmp_path / "facts.py").write_text(OWN)
    spec = f"{tmp_path / 'facts.py'}:DATASET"
    assert open_dataset(spec).name == "facts"
    ran = CliRunner().invoke(app, ["retrieve", spec, "--system", "oracle,zero_shot", "--json"])
    assert ran.exit_code == 0, ran.output
    found = json.loads(ran.stdout)
    assert [one["in_context"]["value"] for one in found] == [1, 0]


def lyon(**changes):
    fields = {"id": "q1", "question": "Where?", "answer": "Lyon", "grader": "exact", **changes}
    return Question(**{"evidence": (0,), **fields})


def facts(*questions, name="facts", text="I live in Lyon."):
    stream = (StreamTurn(id=0, role="user", text=text),)
    return Package(
        name=name, stream=stream, questions=questions, truth=(), noise=(), settings={}
    )  # fmt: skip


@pytest.mark.parametrize(
    ("packages", "message"),
    [
        (None, "expected a list of packages, found None"),
        ([], "there are no questions to ask"),
        ([facts()], "there are no questions to ask"),
        ([facts(lyon()), facts(lyon(id="q2"))], "2 packages are called 'facts'"),
        ([facts(lyon()), facts(lyon(), name="b")], "2 questions have the id 'q1'"),
        ([facts(lyon(), name="../up")], r"package '\.\./up': its name is not one of a dir"),
        ([facts(lyon(evidence=()))], "question 'q1' has no evidence turns"),
        (
            [facts(lyon(evidence=(-1,)))],
            "evidence what is not there: it has turn -1, and the thread has turns 0 to 0",
        ),
        ([facts(lyon(), text=" ")], "its thread says nothing"),
        ([facts(lyon(grader="letter"))], "its answer 'Lyon' is none of its options"),
    ],
)
def test_packages_that_cannot_be_measured_on_are_refused(packages, message):
    with pytest.raises(DataError, match=message):
        check_packages(packages)
    check_packages([facts(lyon())])


def test_a_data_set_that_fails_says_so(tmp_path):
    broken = OWN.replace("    def threads(self):\n", "    def threads(self):\n        1 / 0\n")
    (tmp_path / "facts.py").write_text(broken)
    with pytest.raises(DataError, match="data set facts fails: ZeroDivisionError"):
        open_threads(f"{tmp_path / 'facts.py'}:DATASET")


def test_packages_are_written_whole_or_not_at_all(tmp_path):
    with pytest.raises(DataError, match="2 packages are called 'facts'"):
        write_packages([facts(lyon()), facts(lyon())], tmp_path / "out")
    assert not (tmp_path / "out").exists()
    (tmp_path / "file").write_text("x")
    with pytest.raises(DataError, match="is not an empty directory"):
        write_packages([facts(lyon())], tmp_path / "file")
    write_packages([facts(lyon())], tmp_path / "out")
    (tmp_path / "out" / "facts" / "manifest.json").write_text("{")
    with pytest.raises(DataError, match=r"manifest\.json is damaged"):
        load_packages(tmp_path / "out")


def test_the_command_writes_rows_and_a_page(write, tiny, tmp_path):
    def scaleqa(*words):
        call = [sys.executable, "-c", "from scaleqa.cli.app import main; main()", "retrieve"]
        return subprocess.run(
            [*call, *words], capture_output=True, text=True, check=False, cwd=tmp_path
        )

    write(oracle_form(), "release.json.gz")
    ran = scaleqa(
        "longmemeval:file=release.json.gz,target=200,subset=3", "--model", str(tiny), "--json",
        "--system", "tsim,standard_rag", "--budget", "60", "--out", "rows", "--table", "page.md",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    printed = json.loads(ran.stdout)
    assert [one["questions"] for one in printed] == [3, 3]
    assert [one["system"] for one in printed] == ["tsim:budget=60", "standard_rag"]
    assert len([*(tmp_path / "rows").rglob("*.jsonl")]) == 6
    page = (tmp_path / "page.md").read_text("utf-8")
    assert "scaleqa retrieve longmemeval:file=release.json.gz" in page
    assert str(tmp_path) not in page
    ran = scaleqa("longmemeval:file=no.json", "--json")
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
    every = choose(release.questions, None, 0, abstention=True)
    assert (len(every.questions), every.abstentions) == (500, 0)
    for package in compile_threads(release, chosen.questions[:20], target=115_000, seed=0):
        assert 105_000 < package.stats["tokens"] <= 115_000
        assert package.questions[0].evidence


def test_abstention_asks_what_the_history_does_not_answer_as_absent_questions(write):
    path = write(oracle_form())
    plain = open_threads(f"longmemeval:file={path},target=200")
    packages = open_threads(f"longmemeval:file={path},target=200,abstention=true")
    assert [package.sha256 for package in packages if package.name != "q7_abs"] == [
        package.sha256 for package in plain
    ]
    (package,) = (package for package in packages if package.name == "q7_abs")
    (query,) = package.questions
    assert (query.evidence, query.stress, query.domain) == ((), ("absent",), "multi-session")
    assert len(package.truth) == 2, "its own sessions are there, for systems with boundaries"
    assert package.settings["left_out"] == {"abstentions": 0, "unmarked": 1}
    assert (package.settings["abstention"], "abstention" in plain[0].settings) == (True, False)


def test_the_grader_is_looked_up_only_when_answers_are_graded(write, tiny, tmp_path):
    spec = f"longmemeval:file={write(oracle_form())},target=200,grader=unheard_of"
    assert {q.grader for package in open_threads(spec) for q in package.questions} == {"unheard_of"}
    ran = CliRunner().invoke(
        app,
        ["run", spec, "--backend", "extractive", "--system", "oracle", "--model", str(tiny),
         "--prompt", "free-answer.v1", "--out", str(tmp_path / "out")],
    )  # fmt: skip
    assert "no judge 'unheard_of'" in str(ran.exception)


def test_questions_that_share_a_history_keep_their_own_evidence(write):
    path = write(oracle_form())
    alone = {q.id: texts(p, q) for p in threads(path) for q in p.questions}
    packages = open_threads(f"longmemeval:file={path},target=400,share=3")
    assert [len(package.questions) for package in packages] == [3, 3]
    assert {q.id: texts(p, q) for p in packages for q in p.questions} == alone
    for package in packages:
        named = [block.source for block in (*package.truth, *package.noise)]
        assert len(named) == len({*named}), "every session is there once"
        assert package.dialogues[0][0] == 0
    for wrong in ("share=3,dates=true", "share=0"):
        with pytest.raises(DataError, match="share"):
            open_threads(f"longmemeval:file={path},target=400,{wrong}")


def test_histories_are_filled_from_another_corpus(write, tmp_path):
    path, noise = write(oracle_form()), tmp_path / "chats.json"
    said = [f"and is it the weather of the month {n} that you have to like here" for n in range(9)]
    chats = [
        {"conversations": [{"from": "human", "value": one}, {"from": "gpt", "value": f"{one} so"}]}
        for one in said
    ]
    noise.write_text(json.dumps(chats))
    hashed = hashlib.sha256(noise.read_bytes()).hexdigest()
    fill = f"noise={noise},noise_format=sharegpt"
    for package, usual in zip(
        open_threads(f"longmemeval:file={path},target=230,{fill}"),
        open_threads(f"longmemeval:file={path},target=230"),
        strict=True,
    ):
        own = {turn for block in package.truth for turn in block.turns}
        others = [turn for turn in package.stream if turn.id not in own]
        assert others
        assert {turn.text.removesuffix(" so") for turn in others} <= {*said}
        assert texts(package, package.questions[0]) == texts(usual, usual.questions[0])
        assert package.settings["noise_sha256"] == hashed
        assert "noise_sha256" not in usual.settings
    one = question("q1")
    one["answer_session_ids"] = ["q1-0"]
    with pytest.raises(DataError, match="histories as published are whole"):
        open_threads(f"longmemeval:file={write([one])},{fill}")


def test_a_session_of_two_questions_is_evidence_of_both(write):
    questions = oracle_form()[:6]
    for one in questions[1:]:
        one["haystack_sessions"][0] = [
            {**turn, "has_answer": n == 3}
            for n, turn in enumerate(questions[0]["haystack_sessions"][0])
        ]
    (package,) = open_threads(f"longmemeval:file={write(questions)},target=230,share=6")
    shared = [block for block in package.truth if block.source.endswith("-0")]
    assert len(shared) == 1
    first = next(q for q in package.questions if q.id == "q0")
    other = next(q for q in package.questions if q.id == "q1")
    assert shared[0].turns[1] in first.evidence
    assert shared[0].turns[3] in other.evidence


def texts(package, query):
    return sorted(package.stream[turn].text for turn in query.evidence)


def test_with_dates_turns_have_the_times_of_their_sessions(write, tmp_path):
    path = write(oracle_form())
    plain = open_threads(f"longmemeval:file={path},target=200")
    assert all(turn.at is None for package in plain for turn in package.stream)
    dated = open_threads(f"longmemeval:file={path},target=200,dates=true")
    for before, package in zip(plain, dated, strict=True):
        (query,) = package.questions
        assert query.at == datetime(2023, 6, 1, 10, tzinfo=UTC).timestamp()
        times = [turn.at for turn in package.stream]
        assert times == sorted(times), "a compiled history is told in order"
        assert times[-1] <= query.at
        days = {block.source: {times[turn] for turn in block.turns} for block in package.truth}
        assert days == {
            f"{query.id}-{n}": {datetime(2023, 5, 20 - n, 10, tzinfo=UTC).timestamp()}
            for n in range(2)
        }
        bare = [(turn.id, turn.role, turn.text) for turn in package.stream]
        assert bare == [(turn.id, turn.role, turn.text) for turn in before.stream]
        assert package.sha256 != before.sha256
    write_packages(dated, tmp_path / "dated")
    assert load_packages(tmp_path / "dated") == sorted(dated, key=lambda one: one.name)
    write_packages(plain, tmp_path / "plain")
    assert b'"at"' not in (tmp_path / "plain" / "q0" / "stream.jsonl").read_bytes()


def test_dates_that_cannot_be_read_are_refused(write):
    for wrong, message in (
        ({"question_date": None}, "question q0 has no question_date; use dates=false"),
        ({"question_date": "June 2023"}, "'June 2023' is not a date such as"),
    ):
        path = write([{**question(f"q{n}"), **wrong} for n in range(6)])
        with pytest.raises(DataError, match=message):
            open_threads(f"longmemeval:file={path},target=200,dates=true")


def test_a_system_is_told_when_turns_were_said_and_when_it_is_asked(tmp_path):
    """The engine prefers the time that a dated question is about; without dates it cannot."""
    days = [86_400.0 * n for n in range(12)]
    stream = tuple(
        StreamTurn(id=n, role="user", text="the gpu rule holds", at=at) for n, at in enumerate(days)
    )
    asked = Question(
        id="q", question="the gpu rule, 3 days ago", evidence=(8,), grader="exact", at=days[11]
    )
    package = Package(name="p", stream=stream, questions=(asked,), truth=(), noise=(), settings={})
    write_packages([package], tmp_path / "p")
    (package,) = load_packages(tmp_path / "p")
    assert package.questions == (asked,)
    assert package.stream == stream
    tools = Tools(embedder=WordEmbedder())
    system = open_system("tsim:budget=12", tools)
    system.ingest(package.stream)
    found = system.retrieve(Asked(id="q", question=asked.question, at=asked.at))
    assert found.shown == {8}
    system.close()
