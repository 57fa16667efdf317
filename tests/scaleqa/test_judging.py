"""Several judges over the same answers: verdict files, judges by file, agreement, abstention."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from scaleqa.backends import Access, Reply, open_chat
from scaleqa.cli.app import app
from scaleqa.datasets import open_threads
from scaleqa.errors import DataError
from scaleqa.evaluate import Reading, RunSettings, run_package
from scaleqa.evaluate.judgefile import ByFile, export_requests, import_verdicts
from scaleqa.evaluate.judging import judge_rows
from scaleqa.evaluate.labels import read_labels
from scaleqa.evaluate.rowfile import all_rows, read_rows, row_files, write_rows
from scaleqa.evaluate.verdicts import judged_rows, judgements, verdict_path
from scaleqa.figures.judging import agreements, by_judge
from scaleqa.figures.paired import compare
from scaleqa.figures.scores import score
from scaleqa.judges import open_judge
from scaleqa.packages import Package, Question, StreamTurn
from scaleqa.prompts import ABSTAIN, template
from scaleqa.report import figures_json, write_report
from scaleqa.report.columns import judge_names
from scaleqa.testing import WordEmbedder
from scaleqa.testing.judge import AgreeableChat
from tests.support.servers import JsonServer, completion, serving
from tsim.errors import RemoteError

CITIES = ("Lyon", "Nice", "Metz", "Lille", "Brest", "Dijon")
STREAM = tuple(
    StreamTurn(id=n, role="user", text=f"My cousin number {n} lives in {city}.")
    for n, city in enumerate(CITIES)
)
QUESTIONS = tuple(
    Question(
        id=f"q{n}", question=f"Where does cousin {n} live?", answer=city, evidence=(n,),
        grader="exact", domain="multi-session",
    )
    for n, city in enumerate(CITIES)
)  # fmt: skip
ASKED = Package(
    name="p", stream=STREAM, questions=QUESTIONS, truth=(), noise=(),
    settings={"dataset": "cousins"},
)  # fmt: skip


class Reader:
    """A backend that answers from a list, over and over."""

    stand_in = False
    identity = "fixed"

    def __init__(self, *said):
        self.said = said
        self.place = -1

    def reply(self, request):
        self.place += 1
        return Reply(text=self.said[self.place % len(self.said)])

    def close(self):
        pass


def run(out, *said, system="full_context", package=ASKED, prompt="free-answer.v1"):
    reading = Reading(backend=Reader(*said), template=template(prompt), writeback=False)
    settings = RunSettings(system=system, reading=reading)
    return run_package(package, settings, WordEmbedder(), out)


@pytest.fixture
def runs(tmp_path):
    """Two systems: one is right in its own words, the other names the city or another one."""
    said = [f"ANSWER: in {city}, France\nRATIONALE: so" for city in CITIES]
    run(tmp_path / "runs", *said)
    mixed = [f"ANSWER: {city if n % 2 else 'in Rome'}" for n, city in enumerate(CITIES)]
    run(tmp_path / "runs", *mixed, system="oracle")
    return tmp_path / "runs"


def scaleqa(*arguments):
    ran = CliRunner().invoke(app, [*map(str, arguments), "--json"])
    assert ran.exit_code == 0, ran.output
    return json.loads(ran.stdout)


def lenient(body):
    """A judge that finds right whatever names the gold city."""
    lines = body["messages"][0]["content"].splitlines()
    gold, answer = (
        next(line for line in lines if line.startswith(name)).partition(": ")[2]
        for name in ("Right answer", "Given answer")
    )
    return completion("Yes." if gold in answer else "No.")


def test_verdicts_are_kept_beside_the_rows_and_made_once(runs):
    before = {path: path.read_bytes() for path in row_files(runs)}
    judges = [open_judge("f1"), open_judge("normalised")]
    assert judge_rows(runs, judges) == 24
    assert judge_rows(runs, judges) == 0
    assert {path: path.read_bytes() for path in row_files(runs)} == before
    assert len(all_rows(runs)) == 12
    path = verdict_path(next(iter(before)), "f1/1/squad/0.5")
    heading, first, *others = path.read_text("utf-8").splitlines()
    assert json.loads(heading) == {"judge": "f1/1/squad/0.5", "version": 1}
    assert json.loads(first)["score"] == 0.5
    assert len(others) == 5
    judged = [row.judged for row in judged_rows(runs) if row.run.system == "full_context"]
    assert judged == [{"f1/1/squad/0.5": True, "normalised/1": False}] * 6


def test_a_model_judges_by_http_and_its_cost_is_counted(runs, tmp_path, monkeypatch):
    monkeypatch.setenv("TSIM_CACHE", str(tmp_path / "cache"))
    with serving(JsonServer(lenient)) as server:
        model = f"openai:m@{server.url}"
        arguments = ("judge", runs, "--judge", "judge,judge:prompt=judge-strict.v1")
        more = ("--with", model, "--price", "1,1", "--workers", "3", "--no-cache")
        found = scaleqa(*arguments, *more)
        assert found["new"] == len(server.seen) == 24
        lines = {(one["judge"].split("/")[1], one["system"]): one for one in found["verdicts"]}
        assert lines["judge.v1", "full_context"]["correct"] == 1
        assert lines["judge-strict.v1", "oracle"]["correct"] == 0.5
        assert lines["judge.v1", "oracle"]["cost_usd"] == pytest.approx(6 * 18e-6)
        assert scaleqa(*arguments, *more)["new"] == 0
        assert len(server.seen) == 24
        own = ("judge", runs, "--judge", f"judge:model={model}2")
        assert scaleqa(*own)["new"] == 12  # another model has verdicts of its own
    said = {one.said for _, _, one in judgements(row_files(runs))}
    assert said == {"Yes.", "No."}


RUNNER = """
import sys
from pathlib import Path
from scaleqa.backends import Access, open_chat
from scaleqa.evaluate.judging import judge_rows
from scaleqa.judges import open_judge
model = open_chat(f"openai:m@{sys.argv[2]}", Access(cached=False))
print("ready", flush=True)
judge_rows(Path(sys.argv[1]), [open_judge("judge", model)])
"""


def test_a_killed_judge_goes_on_where_it_stopped(runs):
    def slowly(body):
        time.sleep(0.05)
        return lenient(body)

    with serving(JsonServer(slowly)) as server:
        command = [sys.executable, "-c", RUNNER, str(runs), server.url]
        first = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert first.stdout
        first.stdout.readline()

        def written():
            found = [*(runs / "verdicts").rglob("full_context/p.jsonl")]
            return found[0].read_text().count("\n") - 1 if found else 0

        while written() < 3:  # a verdict is written after its request was seen
            time.sleep(0.01)
        first.send_signal(signal.SIGKILL)
        first.wait()
        first.stdout.close()
        asked = len(server.seen)
        (path,) = (runs / "verdicts").rglob("full_context/p.jsonl")
        kept = written()
        assert 3 <= kept < 12
        with path.open("a") as file:
            file.write('{"id": "torn')
        subprocess.run(command, check=True, capture_output=True)
        assert len(server.seen) - asked == 12 - kept
    rows = judged_rows(runs)
    assert sum(next(iter((row.judged or {}).values())) for row in rows) == 9
    assert b"torn" not in path.read_bytes()


def test_a_judge_that_fails_keeps_what_it_was_told(runs):
    with serving(JsonServer(lenient)) as server:
        model = open_chat(f"openai:m@{server.url}", Access(cached=False))
        server.script = [None, None, None, (400, {"error": "no"}, {})]
        with pytest.raises(RemoteError):
            judge_rows(runs, [open_judge("judge", model)])
        kept = sum(1 for _ in judgements(row_files(runs)))
        assert kept >= 3
        assert judge_rows(runs, [open_judge("judge", model)]) == 12 - kept
        model.close()


def test_a_verdict_is_about_one_reply(runs):
    judge_rows(runs, [open_judge("f1")])
    path = next(path for path in row_files(runs) if path.parent.name == "oracle")
    rows = read_rows(path)
    detail = rows[0].detail.model_copy(update={"reply": "ANSWER: Lyon"})
    write_rows(path, [rows[0].model_copy(update={"detail": detail}), *rows[1:]])
    other = {row.id: row.judged for row in judged_rows(runs) if row.run.system == "oracle"}
    assert other["q0"] is None
    assert other["q1"] == {"f1/1/squad/0.5": True}
    assert judge_rows(runs, [open_judge("f1")]) == 1
    lines = verdict_path(path, "f1/1/squad/0.5").read_text().splitlines()
    assert len(lines) == 8  # nothing is ever taken away


def test_damaged_and_mistaken_files_of_verdicts_are_named(runs):
    judge_rows(runs, [open_judge("f1")])
    path = verdict_path(row_files(runs)[0], "f1/1/squad/0.5")
    whole = path.read_text()
    path.write_text(whole + "{}\n")
    with pytest.raises(DataError, match=r"p\.jsonl, line 8 is no line of verdicts"):
        judged_rows(runs)
    path.write_text(whole.replace("squad", "locomo"))
    with pytest.raises(DataError, match=r"holds verdicts of f1/1/locomo/0.5, expected f1/1/squad"):
        judge_rows(runs, [open_judge("f1")])


def test_what_cannot_be_judged_is_refused_before_anything_is_written(tmp_path, runs):
    alone = tmp_path / "alone"
    run_package(ASKED, RunSettings(system="full_context"), WordEmbedder(), alone)
    with pytest.raises(DataError, match="holds no answers, only what was retrieved"):
        judge_rows(alone, [open_judge("f1")])
    with pytest.raises(DataError, match="holds no rows"):
        judge_rows(tmp_path / "nothing", [open_judge("f1")])
    with pytest.raises(DataError, match="is named twice"):
        judge_rows(runs, [open_judge("f1"), open_judge("f1:threshold=0.5")])
    other = runs / "oracle" / "p.jsonl"
    write_rows(other, [r.model_copy(update={"domain": "Legal"}) for r in read_rows(other)])
    with pytest.raises(DataError, match="found one of type 'Legal'"):
        judge_rows(runs, [open_judge("f1"), open_judge("longmemeval", AgreeableChat())])
    assert not (runs / "verdicts").exists()


def answered(requests: Path, out: Path, say=lenient) -> Path:
    lines = [json.loads(line) for line in requests.read_text().splitlines()]
    out.write_text(
        "".join(
            json.dumps({"custom_id": one["custom_id"], "response": {"body": say(one["body"])}})
            + "\n"
            for one in lines
        )
    )
    return out


def test_readers_judge_by_file_without_knowing_whom(runs, tmp_path):
    run(runs, *[f"ANSWER: {city}" for city in CITIES], system="zero_shot")
    judges = [open_judge("judge", ByFile(model="reader-1"))]
    requests = tmp_path / "requests.jsonl"
    # Three of the answers of zero_shot are those of oracle as well.
    assert export_requests(runs, judges, "reader-1", requests) == 15
    text = requests.read_text()
    keys = [json.loads(line)["custom_id"] for line in text.splitlines()]
    assert keys == sorted(keys)
    assert not any(name in text for name in ("zero_shot", "oracle", '"q0"', "full_context"))
    answers = answered(requests, tmp_path / "answers.jsonl")
    few = tmp_path / "few.jsonl"
    few.write_text("".join(answers.read_text().splitlines(keepends=True)[:5]))
    with pytest.raises(DataError, match="10 requests have no answer"):
        import_verdicts(runs, judges, "reader-1", [few])
    assert not (runs / "verdicts").exists()
    some = import_verdicts(runs, judges, "reader-1", [few], partial=True)
    assert import_verdicts(runs, judges, "reader-1", [answers]) == 18 - some
    assert import_verdicts(runs, judges, "reader-1", [answers]) == 0
    rows = judged_rows(runs)
    assert sum(next(iter((row.judged or {}).values())) for row in rows) == 15
    tokens = sum(one.prompt_tokens for _, _, one in judgements(row_files(runs)))
    assert tokens == 15 * 11  # of what was asked, once
    with pytest.raises(DataError, match="graded everything"):
        export_requests(runs, judges, "reader-1", tmp_path / "again.jsonl")
    with pytest.raises(DataError, match="was not asked"):
        other = [open_judge("judge", ByFile(model="reader-2"))]
        import_verdicts(runs, other, "reader-2", [answers])
    with pytest.raises(DataError, match="exact/1 asks nobody"):
        export_requests(runs, [open_judge("exact")], "x", tmp_path / "x.jsonl")


def test_the_commands_by_file_go_together(runs, tmp_path):
    requests = tmp_path / "requests.jsonl"
    by = ("judge", runs, "--judge", "judge", "--by", "reader-1")
    assert scaleqa(*by, "--export", requests)["requests"] == 12
    answers = answered(requests, tmp_path / "answers.jsonl")
    assert scaleqa(*by, "--answers", answers)["new"] == 12
    wrong = CliRunner().invoke(app, [*map(str, by)])
    assert "give --export FILE, and later --answers FILE" in str(wrong.exception)


def test_agreement_is_that_of_scikit_learn(runs, tmp_path):
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    judge_rows(runs, [open_judge("f1"), open_judge("normalised")])
    rows = judged_rows(runs)
    labels = tmp_path / "people.jsonl"
    right = {(row.run.system, row.id): "Rome" not in row.detail.reply for row in rows}
    labels.write_text(
        "".join(
            json.dumps({"id": name, "system": system, "correct": correct, "note": "x"}) + "\n"
            for (system, name), correct in right.items()
        )
    )
    known = {**by_judge(rows), "people": read_labels(labels, rows)}
    found = {(one.first, one.second): one for one in agreements(known)}
    assert len(found) == 6
    for (first, second), one in found.items():
        keys = sorted(known[first])
        pair = [[known[name][key] for key in keys] for name in (first, second)]
        assert one.raw.value == pytest.approx(metrics.accuracy_score(*pair))
        expected = metrics.cohen_kappa_score(*pair)
        assert one.kappa.value == pytest.approx(expected)
        assert one.kappa.interval.low <= expected <= one.kappa.interval.high + 1e-9
        cells = metrics.confusion_matrix(*pair, labels=[True, False]).ravel().tolist()
        assert [one.both, one.only_first, one.only_second, one.neither] == cells
    printed = scaleqa("agree", runs, "--labels", labels)
    assert len(printed["agreement"]) == 6
    assert printed["agreement"][-1]["second"] == "labels:people"
    (setting,) = printed["accuracy"]
    ranges = {one["system"]: one["range"] for one in setting["systems"]}
    assert ranges == {"full_context": [0.0, 1.0], "oracle": [0.5, 0.5]}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": "q0", "system": "oracle"}', r"line 1 is no label \(correct: Field required"),
        ('{"id": "q0", "system": "oracle", "correct": "yes"}', "is no label"),
        ('{"id": "q9", "system": "oracle", "correct": true}', "no answer of this run"),
        ('{"id": "q0", "system": "oracle", "correct": true}\n' * 2, "a second time"),
        ("", "holds no labels"),
    ],
)
def test_labels_that_do_not_fit_are_refused(line, message, runs, tmp_path):
    path = tmp_path / "labels.jsonl"
    path.write_text(line)
    with pytest.raises(DataError, match=message):
        read_labels(path, all_rows(runs))


def test_tables_show_how_far_accuracy_depends_on_the_judge(runs, tmp_path):
    alone = score([row for row in judged_rows(runs) if row.run.system == "full_context"])
    assert alone.answers.judges == {"exact/1": 0.0}
    page = tmp_path / "report.html"
    write_report(runs, page)
    assert "one judge" in page.read_text("utf-8")
    ran = CliRunner().invoke(app, ["compare", str(runs), "full_context", "oracle"])
    assert "one judge" in ran.output
    judge_rows(runs, [open_judge("f1")])
    rows = judged_rows(runs, detail=False)
    found = score([row for row in rows if row.run.system == "full_context"])
    assert found.answers.judges == {"exact/1": 0.0, "f1/1/squad/0.5": 1.0}
    assert found.answers.strict_accuracy == 0
    _, measures = compare(rows, "full_context", "oracle")
    assert measures[0].judges == {"exact/1": -0.5, "f1/1/squad/0.5": 0.5}
    write_report(runs, page)
    text = page.read_text("utf-8")
    assert "0.0 to 100.0" in text
    assert "Agreement of judges" in text
    assert "one judge" not in text
    ran = CliRunner().invoke(app, ["compare", str(runs), "full_context", "oracle"])
    assert "-0.500 to +0.500" in ran.output.replace("\n", " ")
    (setting,) = figures_json(runs)["settings"]
    assert setting["agreement"][0]["answers"] == 12


ABSENT_TOO = Package(
    name="p",
    stream=STREAM,
    questions=(
        *QUESTIONS[:4],
        *(
            Question(
                id=f"gone{n}", question="Where is my boat?", answer="nowhere", evidence=(),
                stress=("absent",), grader="exact",
            )
            for n in range(2)
        ),
    ),
    truth=(),
    noise=(),
    settings={"dataset": "cousins"},
)  # fmt: skip


def test_abstaining_is_counted_apart(tmp_path):
    said = ["Lyon", ABSTAIN, "Rome", "?", ABSTAIN, "nowhere"]
    rows = run(
        tmp_path, *(f"ANSWER: {one}" for one in said), package=ABSENT_TOO, prompt="free-answer.v2"
    )
    assert [row.answered.abstained for row in rows] == [False, True, False, False, True, False]
    assert [row.answered.correct for row in rows] == [True, False, False, False, True, False]
    found = score(rows)
    assert found.answers.strict_accuracy == found.answers.accuracy == 0.25
    assert found.answers.unanswered == 0
    one = found.abstaining
    assert (one.present.value, one.absent.value, one.abstained.value) == (0.25, 0.5, 0.25)
    assert (one.precision.value, one.recall.value) == (0.5, 0.5)
    page = tmp_path / "report.html"
    write_report(tmp_path, page)
    text = page.read_text("utf-8")
    assert "said that it is not in the conversation" in text
    assert "abstention precision" in text
    assert judge_rows(tmp_path, [open_judge("normalised")]) == 6
    assert [row.judged["normalised/1"] for row in judged_rows(tmp_path)] == [
        row.answered.correct for row in rows
    ]


def test_without_the_offer_nothing_changes(tmp_path):
    options = {"A": "Lyon", "B": "Nice", "C": "Metz", "D": "Lille"}
    asked = Question(id="q", question="Where?", options=options, answer="A", evidence=(0,))
    package = Package(name="p", stream=STREAM, questions=(asked,), truth=(), noise=(), settings={})
    (old,) = run(tmp_path / "a", f"ANSWER: {ABSTAIN}", package=package, prompt="answer.v1")
    assert (old.answered.answer, old.answered.abstained) == (None, None)
    assert score([old]).answers.accuracy == 0.25  # the paper's credit
    assert score([old]).abstaining is None
    written = (tmp_path / "a" / "full_context" / "p.jsonl").read_text()
    assert not {"abstained", "abstention", "judged"} & {*json.dumps(json.loads(written)).split('"')}
    (new,) = run(
        tmp_path / "b", f"ANSWER: {ABSTAIN}", package=package, prompt="choice-or-absent.v1"
    )
    assert (new.answered.abstained, new.answered.correct) == (True, False)
    assert score([new]).answers.accuracy == 0


def test_free_answers_to_our_own_records_are_graded_by_the_text_of_the_right_option():
    spec = "scaleqa:target=0,subset=20"
    chosen, free = open_threads(spec), open_threads(f"{spec},free=true,grader=f1")
    for one, other in zip(chosen, free, strict=True):
        assert one.stream == other.stream
        for question, asked in zip(one.questions, other.questions, strict=True):
            assert (asked.options, asked.grader) == (None, "f1")
            assert asked.answer == question.options[question.answer]
    assert {q.grader for p in open_threads(f"{spec},free=true") for q in p.questions} == {"judge"}
    with pytest.raises(DataError, match="is for free answers, and these questions have options"):
        open_threads(f"{spec},grader=f1")


def test_judges_are_listed_with_their_options():
    found = {one["name"]: one["asks"] for one in scaleqa("judges")}
    assert found["longmemeval"]
    assert not found["f1"]
    options = {one["name"]: one["default"] for one in scaleqa("judges", "f1")["options"]}
    assert options == {"threshold": 0.5, "convention": "squad"}


def test_judges_have_short_names_where_these_tell_them_apart():
    strict = "judge/judge-strict.v1/7f728f45ebfe/gpt-4o@https://a.example/v1, temperature 0"
    one, two = f"longmemeval/1/{'0' * 12}/m@a", f"longmemeval/1/{'0' * 12}/m@b"
    assert judge_names([strict, one, two, "f1/1/squad/0.5"]) == {
        strict: "judge/judge-strict.v1/gpt-4o",
        one: one,
        two: two,
        "f1/1/squad/0.5": "f1/1/squad/0.5",
    }
