"""The closed loop: rows, write-back, resuming after kill -9, a backend that fails for a while."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scaleqa.backends import Access, Reply, Request, open_backend
from scaleqa.backends.openai import OpenAI
from scaleqa.errors import DataError
from scaleqa.evaluate import run_package, run_packages
from scaleqa.evaluate.rowfile import all_rows, read_rows
from scaleqa.figures.paired import compare
from scaleqa.figures.scores import score
from scaleqa.judges.letter import letter_of
from scaleqa.judges.reply import rationale_of
from scaleqa.packages import build
from scaleqa.prompts import template
from tests.support.records import NOISE, RECORDS, settings_of
from tests.support.runs import loop, row, without_times
from tests.support.servers import FAILURE, JsonServer, completion, serving
from tsim.http import Patience

ANSWER = template("answer.v1")


@pytest.fixture(scope="module")
def packages():
    return build(RECORDS[:24], NOISE, settings_of(2500))


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("ANSWER: B\nRATIONALE: because", "B"),
        ("answer: (c)\nrationale: x", "C"),
        ("**ANSWER:** D", "D"),
        ("Let me see.\nANSWER: A", "A"),
        (" b) ", None),
        ("B", "B"),
        ("(B).", "B"),
        ("B.", "B"),
        ("ANSWER: A\nANSWER: B", None),
        ("ANSWER: E", None),
        ("ANSWER: none\nRATIONALE: nothing", None),
        ("The answer is probably B", None),
        ("ANSWER: About right", None),
        ("", None),
    ],
)
def test_replies_are_read_strictly(text, letter):
    assert letter_of(text, "ABCD") == letter


def test_rationales_are_read():
    assert rationale_of("ANSWER: B\nRATIONALE: the rule\nsays so") == "the rule\nsays so"
    assert rationale_of("ANSWER: B") == ""


def test_a_run_writes_one_complete_row_a_question(packages, tiny_embedder, tmp_path):
    backend = open_backend("extractive")
    rows = run_packages(packages, loop(backend), tiny_embedder, tmp_path, workers=2)
    assert [one.id for one in rows] == [q.id for p in packages for q in p.questions]
    assert all_rows(tmp_path) == rows
    for one in rows:
        assert one.hit == ({*one.evidence} <= {*one.detail.shown})
        assert one.detail.context
        assert one.detail.units
        assert one.detail.reply
        assert one.context_tokens
        assert one.answered
        assert one.timing.answer_ms is not None


def test_exchanges_come_back_with_writeback_and_not_without(packages, tiny_embedder, tmp_path):
    backend = open_backend("extractive")
    looped = run_packages(packages, loop(backend), tiny_embedder, tmp_path / "a")
    plain = run_packages(packages, loop(backend, writeback=False), tiny_embedder, tmp_path / "b")
    assert score(plain).exchange_share == 0
    assert score(looped).exchange_share > 0
    assert score(looped).hit <= score(plain).hit


def test_rows_of_another_run_are_refused(packages, tiny_embedder, tmp_path):
    backend = open_backend("extractive")
    run_package(packages[0], loop(backend), tiny_embedder, tmp_path)
    with pytest.raises(DataError, match=r"another run \(different: reader\)"):
        run_package(packages[0], loop(backend, writeback=False), tiny_embedder, tmp_path)


RUNNER = """
import sys, time
from pathlib import Path
from scaleqa.backends.extractive import Extractive
from scaleqa.evaluate import run_package
from scaleqa.packages import build
from tests.support.records import NOISE, RECORDS, settings_of
from tests.support.runs import loop
from tsim.embed import OnnxEmbedder

class Slow(Extractive):
    def reply(self, request):
        time.sleep(0.03)
        return super().reply(request)

embedder = OnnxEmbedder(Path(sys.argv[1]), graphs=Path(sys.argv[2]) / "graphs", threads=1)
package = build(RECORDS[:24], NOISE, settings_of(2500))[0]
print("ready", flush=True)
run_package(package, loop(Slow(), sys.argv[3]), embedder, Path(sys.argv[2]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("system", ["standard_rag", "tsim_official"])
def test_a_killed_run_goes_on_and_ends_as_if_never_killed(
    packages, tiny, tiny_embedder, tmp_path, system
):
    path = tmp_path / "killed" / system / f"{packages[0].name}.jsonl"
    for wait in (0.15, 0.25):
        runner = subprocess.Popen(
            [sys.executable, "-c", RUNNER, str(tiny), str(tmp_path / "killed"), system],
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
        )
        assert runner.stdout
        runner.stdout.readline()
        time.sleep(wait)
        runner.send_signal(signal.SIGKILL)
        runner.wait()
        runner.stdout.close()
    partial = len(read_rows(path)) if path.exists() else 0
    if path.exists():
        with path.open("a") as file:
            file.write('{"id": "torn')
    backend = open_backend("extractive")
    went_on = run_package(packages[0], loop(backend, system), tiny_embedder, tmp_path / "killed")
    calm = run_package(packages[0], loop(backend, system), tiny_embedder, tmp_path / "calm")
    assert without_times(went_on) == without_times(calm)
    assert without_times(read_rows(path)) == without_times(calm)
    assert partial < len(calm)


@pytest.fixture
def chat():
    reply = completion("ANSWER: B\nRATIONALE: the rule says so")
    with serving(JsonServer(lambda _: reply)) as server:
        yield server


def test_a_server_that_fails_for_a_while_delays_and_never_corrupts(
    packages, tiny_embedder, tmp_path, chat
):
    chat.script = [None, FAILURE, FAILURE, None, FAILURE, None, None, None, FAILURE]
    waits = []
    backend = OpenAI("m", base_url=chat.url, key="k", patience=Patience(sleep=waits.append))
    rows = run_package(packages[0], loop(backend), tiny_embedder, tmp_path)
    backend.close()
    assert len(rows) == len(packages[0].questions)
    assert {row.answered.answer for row in rows} == {"B"}
    assert {row.detail.rationale for row in rows} == {"the rule says so"}
    assert {row.answered.prompt_tokens for row in rows} == {11}
    assert len(waits) == 4
    body = chat.seen[0]
    assert body["auth"] == "Bearer k"
    assert body["temperature"] == 0
    assert packages[0].questions[0].question in body["messages"][0]["content"]


def test_a_backend_is_opened_by_what_users_write(chat):
    backend = open_backend(f"openai:m@{chat.url}", Access(cached=False))
    request = Request(prompt="p", context="", question="q", options={})
    assert backend.reply(request) == Reply(
        text="ANSWER: B\nRATIONALE: the rule says so", prompt_tokens=11, completion_tokens=7
    )
    backend.close()
    with pytest.raises(DataError, match="no backend 'oracle'"):
        open_backend("oracle")


def test_accuracy_credits_the_unanswered_with_the_chance_of_a_guess():
    rows = [row(0), row(1, answer="B"), row(2, answer=None), row(3, hit=False)]
    scores = score(rows).answers
    assert scores.accuracy == pytest.approx((2 + 0.25) / 4)
    assert scores.strict_accuracy == 0.5
    assert scores.unanswered == 0.25
    assert scores.audit == {
        "hit_correct": 0.25, "hit_wrong": 0.25, "miss_correct": 0.25, "miss_wrong": 0.0,
    }  # fmt: skip
    three = [one.model_copy(update={"options": {"A": "x", "B": "y", "C": "z"}}) for one in rows]
    assert score(three).answers.accuracy == pytest.approx((2 + 1 / 3) / 4)
    free = [one.model_copy(update={"options": None}) for one in rows]
    assert score(free).answers.accuracy == 0.5


def test_a_reader_without_a_language_model_scores_no_accuracy():
    scores = score([row(n, backend="extractive/1") for n in range(3)])
    assert scores.answers is None
    assert scores.hit == 1


def test_two_systems_are_compared_on_common_questions(packages, tiny_embedder, tmp_path):
    backend = open_backend("extractive")
    rows = [
        row
        for system in ("oracle", "zero_shot")
        for row in run_packages(packages, loop(backend, system), tiny_embedder, tmp_path)
    ]
    questions, found = compare(rows, "oracle", "zero_shot")
    assert questions == sum(len(package.questions) for package in packages)
    by_measure = {one.measure: one for one in found}
    assert by_measure["hit"].difference.difference == 1
    assert by_measure["hit"].mcnemar_p < 1e-6
    with pytest.raises(DataError, match="no rows of 'x'"):
        compare(rows, "oracle", "x")


def test_prompts_keep_braces_and_name_their_places():
    assert ANSWER.fill(context="{question}", question="q?", options="A) x").count("q?") == 1
    for name in (
        "answer.v1",
        "full-vanilla.v1",
        "full-evidence-first.v1",
        "full-question-first.v1",
    ):
        text = template(name).text
        assert all(text.count(place) == 1 for place in ("{context}", "{question}", "{options}"))
    with pytest.raises(DataError, match="no prompt"):
        template("other")


def test_the_extractive_reader_is_deterministic_and_admits_ignorance():
    backend = open_backend("extractive")
    options = {"A": "the blue door", "B": "the red door", "C": "green", "D": "none"}
    request = Request(
        prompt="", context="user: take the red one\nmodel: fine", question="which one?",
        options=options,
    )  # fmt: skip
    assert letter_of(backend.reply(request).text, "ABCD") == "B"
    empty = Request(prompt="", context="", question="which?", options=options)
    assert letter_of(backend.reply(empty).text, "ABCD") is None
