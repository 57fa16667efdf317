"""Judges: letters of any number of options, exact texts, a language model."""

import subprocess
import sys

import pytest

from scaleqa.backends import Reply, open_backend
from scaleqa.errors import DataError
from scaleqa.evaluate import Reading, RunSettings, run_package
from scaleqa.evaluate.grading import chosen_template
from scaleqa.judges import Task, judge_names, open_judge
from scaleqa.packages import Package, Question, StreamTurn
from scaleqa.prompts import template

STREAM = tuple(
    StreamTurn(id=n, role=("user", "model")[n % 2], text=text)
    for n, text in enumerate(("I moved to Lyon in May.", "Noted.", "The rent is 700 euros."))
)


def package(**changes) -> Package:
    fields = {"id": "q", "question": "Where do I live?", "evidence": (0,), **changes}
    return Package(
        name="p", stream=STREAM, questions=(Question(**fields),), truth=(), noise=(), settings={}
    )


class Chat:
    """A chat model that says what it was given, and remembers what it was asked."""

    identity = "scripted"

    def __init__(self, *said):
        self.said = [*said]
        self.asked = []

    def chat(self, messages, functions=(), *, most_tokens=300):
        self.asked.append(messages[0].content)
        return Reply(text=self.said.pop(0))

    def close(self):
        pass


def test_letters_are_those_of_the_options():
    judge = open_judge("letter")
    task = Task(question="?", gold="E", options=dict.fromkeys("ABCDE", "x"))
    assert judge.grade(task, "ANSWER: E\nRATIONALE: so").correct
    small = Task(question="?", gold="b", options={"a": "x", "b": "y"})
    assert judge.grade(small, "ANSWER: B").correct
    two = Task(question="?", gold="A", options={"A": "x", "B": "y"})
    assert judge.grade(two, "ANSWER: C").answer is None
    assert judge.grade(two, "ANSWER: A\nRATIONALE: so").rationale == "so"


@pytest.mark.parametrize(
    ("reply", "answer", "correct"),
    [
        ("ANSWER: In Lyon.\nRATIONALE: you moved", "In Lyon.", False),
        ("ANSWER: the LYON!", "the LYON!", True),
        ("Lyon", "Lyon", True),
        ("ANSWER: Lyon\nANSWER: Paris", None, False),
        ("ANSWER:\nRATIONALE: Lyon", None, False),
        ("Answered on Monday", "Answered on Monday", False),
        ("**ANSWER:** Lyon\nRATIONALE: answer: Paris is far", "Lyon", True),
        ("RATIONALE: you moved\nANSWER: Lyon", "Lyon", True),
        ("", None, False),
    ],
)
def test_exact_texts_may_differ_in_case_articles_and_punctuation(reply, answer, correct):
    verdict = open_judge("exact").grade(Task(question="Where?", gold="Lyon"), reply)
    assert (verdict.answer, verdict.correct) == (answer, correct)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("-3", "3", False),
        ("C++", "C#", False),
        ("the", "a", False),
        ("का", "की", False),
        ("?", "!", False),
        ("“The 1,000 steps.”", "1000 STEPS", True),
    ],
)
def test_exact_texts_that_mean_something_else_differ(one, other, same):
    task = Task(question="?", gold=other)
    assert open_judge("exact").grade(task, f"ANSWER: {one}").correct is same


def test_a_model_judges_what_was_answered_and_is_not_asked_about_silence():
    model = Chat("Yes.", "no, it is not")
    judge = open_judge("judge", model)
    task = Task(question="Where do I live?", gold="Lyon")
    assert judge.grade(task, "ANSWER: in Lyon, France").correct
    assert not judge.grade(task, "ANSWER: Paris").correct
    assert judge.grade(task, "").answer is None
    assert len(model.asked) == 2
    assert all(text in model.asked[0] for text in ("Where do I live?", "Lyon", "in Lyon, France"))
    assert judge.identity.startswith("judge/judge.v1/")
    assert "scripted" in judge.identity


def test_a_judge_that_needs_a_model_says_so():
    with pytest.raises(DataError, match=r"none was given; name one with --judge"):
        open_judge("judge")
    with pytest.raises(DataError, match=r"no judge 'exakt'; did you mean exact\?"):
        open_judge("exakt")
    assert judge_names() == ["exact", "f1", "judge", "letter", "longmemeval", "normalised"]


class Reader:
    """A backend that answers with a text."""

    stand_in = False
    identity = "fixed"

    def __init__(self, text):
        self.text = text

    def reply(self, request):
        self.request = request
        return Reply(text=self.text)

    def close(self):
        pass


def test_a_question_without_options_is_answered_in_free_text(tiny_embedder, tmp_path):
    reader = Reader("ANSWER: Lyon\nRATIONALE: you moved there")
    reading = Reading(backend=reader, template=template("free-answer.v1"))
    asked = package(answer="Lyon", grader="exact")
    settings = RunSettings(system="full_context", reading=reading)
    (row,) = run_package(asked, settings, tiny_embedder, tmp_path)
    assert row.answered.correct
    assert row.answered.rationale_similarity is None
    assert (row.options, row.reasoning, row.domain, row.split, row.stress) == (
        None, None, None, None, (),
    )  # fmt: skip
    assert row.credit == 0
    assert reader.request.options is None
    assert "Lyon in May" in reader.request.prompt
    assert row.run.reader.judge == "exact/1"


def test_the_prompt_names_the_letters_there_are(tiny_embedder, tmp_path):
    reader = Reader("ANSWER: B")
    three = {"A": "Paris", "B": "Lyon", "C": "Nice"}
    asked = package(answer="B", options=three)
    assert chosen_template(None, [asked]).name == "choice.v1"
    assert chosen_template(
        None, [package(answer="A", options=dict.fromkeys("ABCD", "x"))]
    ).name == ("answer.v1")
    assert chosen_template(None, [package(answer="Lyon")]).name == "free-answer.v1"
    reading = Reading(backend=reader, template=template("choice.v1"))
    settings = RunSettings(system="full_context", reading=reading)
    (row,) = run_package(asked, settings, tiny_embedder, tmp_path)
    assert "ANSWER: one letter, A, B or C\n" in reader.request.prompt
    assert row.answered.correct
    assert row.credit == 1 / 3


@pytest.mark.parametrize(
    ("changes", "prompt", "message"),
    [
        ({"answer": "Lyon", "grader": "exact"}, "answer.v1", "has no options, and prompt"),
        (
            {"answer": "A", "options": {"A": "Lyon", "B": "Paris"}},
            "free-answer.v1",
            "has options, and prompt",
        ),
        ({"grader": "exact"}, "free-answer.v1", "no right answer to grade by"),
    ],
)
def test_prompts_that_do_not_fit_are_refused_before_anything_is_asked(
    changes, prompt, message, tiny_embedder, tmp_path
):
    reading = Reading(backend=open_backend("extractive"), template=template(prompt))
    settings = RunSettings(system="full_context", reading=reading)
    with pytest.raises(DataError, match=message):
        run_package(package(**changes), settings, tiny_embedder, tmp_path / "out")
    assert not (tmp_path / "out").exists()


PLUGIN = """
from scaleqa.judges import JudgeDeclaration, Verdict
from scaleqa.options import NoOptions

class Contains:
    identity = "contains/1"

    def grade(self, task, reply):
        return Verdict(answer=reply, correct=task.gold in reply)

JUDGE = JudgeDeclaration(
    name="contains", summary="Contains the gold text.", example="contains", options=NoOptions,
    make=lambda options, model: Contains(),
)
"""


def test_an_outside_package_with_one_file_brings_a_judge(tmp_path):
    """A real installation, seen through entry points by a fresh process."""
    info = tmp_path / "contains_judge-1.0.dist-info"
    info.mkdir()
    (tmp_path / "contains_judge.py").write_text(PLUGIN)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: contains-judge\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[scaleqa.judges]\ncontains = contains_judge:JUDGE\n")
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from scaleqa.judges import Task, open_judge\n"
        "print(open_judge('contains').grade(Task(question='?', gold='x'), 'a x').correct)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "True\n"
