"""Prompts of judges: ours by version, LongMemEval's as its authors published them."""

import hashlib
import tomllib
from importlib import resources

import pytest

from scaleqa.backends import Reply
from scaleqa.errors import DataError
from scaleqa.judges import Task, Verdict, open_judge
from scaleqa.judges.longmemeval import TYPES, prompts
from scaleqa.prompts import ABSTAIN, template
from scaleqa.testing.judge import AgreeableChat

OURS = ("judge.v1", "judge-lenient.v1", "judge-strict.v1", "judge-locomo.v1")
FOLDER = resources.files("scaleqa.prompts") / "longmemeval"


def test_the_prompts_of_longmemeval_are_those_of_the_manifest():
    """The hashes are of the strings in evaluate_qa.py at the commit that is named."""
    manifest = tomllib.loads((FOLDER / "manifest.toml").read_text("utf-8"))
    files = sorted(one.name for one in FOLDER.iterdir() if one.name.endswith(".txt"))
    assert {name: one.sha256 for name, one in prompts().items()} == manifest["sha256"]
    assert files == sorted(f"{name}.txt" for name in manifest["sha256"])
    assert (manifest["licence"], len(manifest["commit"])) == ("MIT", 40)
    assert manifest["copyright"] in (FOLDER / "LICENSE").read_text("utf-8")


@pytest.mark.parametrize("kind", TYPES)
def test_longmemeval_asks_by_type_of_question(kind):
    judge = open_judge("longmemeval", AgreeableChat())
    task = Task(question="What {} did I {gold}?", gold="a {} cat", kind=kind)
    asked = judge.request(task, "ANSWER: {answer} a cat")
    filled = prompts()[TYPES[kind]].text.format(task.question, task.gold, "{answer} a cat")
    assert asked == filled
    absent = judge.request(Task(question="q", gold="g", kind=kind, absent=True), "ANSWER: a")
    assert "unanswerable" in absent
    assert "unanswerable" not in asked


def test_only_temporal_questions_forgive_off_by_one_errors():
    judge = open_judge("longmemeval", AgreeableChat())
    forgiving = {
        kind
        for kind in TYPES
        if "off-by-one" in judge.request(Task(question="q", gold="g", kind=kind), "ANSWER: a")
    }
    assert forgiving == {"temporal-reasoning"}


@pytest.mark.parametrize(
    ("said", "right"), [("yes", True), ("Yes, it is.", True), ("No.", False), ("I say YES", True)]
)
def test_longmemeval_reads_yes_wherever_it_is(said, right):
    judge = open_judge("longmemeval", AgreeableChat())
    task = Task(question="q", gold="g", kind="multi-session")
    assert judge.heard(task, "ANSWER: a", Reply(text=said)).correct is right


def test_longmemeval_asks_about_abstentions_and_refuses_other_types():
    judge = open_judge("longmemeval", AgreeableChat())
    absent = Task(question="q", gold="g", kind="multi-session", absent=True, may_abstain=True)
    assert ABSTAIN in judge.request(absent, f"ANSWER: {ABSTAIN}")
    assert judge.grade(absent, f"ANSWER: {ABSTAIN}").abstained
    with pytest.raises(DataError, match=r"of the types .* found one of type 'Legal'"):
        judge.request(Task(question="q", gold="g", kind="Legal"), "ANSWER: a")


def test_prompts_of_ours_have_identities_of_their_own():
    judges = [open_judge(f"judge:prompt={name}", AgreeableChat()) for name in OURS]
    assert len({judge.identity for judge in judges}) == len(OURS)
    for name, judge in zip(OURS, judges, strict=True):
        sha256 = hashlib.sha256(template(name).text.encode()).hexdigest()
        assert judge.identity == f"judge/{name}/{sha256[:12]}/agreeable"
        asked = judge.request(Task(question="Where?", gold="Lyon"), "ANSWER: Paris")
        assert not isinstance(asked, Verdict)
        assert all(word in asked for word in ("Where?", "Lyon", "Paris"))
    with pytest.raises(DataError, match=r"prompt answer.v1 has the places"):
        open_judge("judge:prompt=answer.v1", AgreeableChat())
    with pytest.raises(DataError, match=r"names its own model"):
        open_judge("judge:model=openai:m", AgreeableChat())


def test_prompts_that_offer_to_abstain_say_so():
    offering = {"choice-or-absent.v1", "free-answer.v2"}
    plain = {"answer.v1", "choice.v1", "free-answer.v1", "full-vanilla.v1"}
    assert all(template(name).offers_abstention for name in offering)
    assert not any(template(name).offers_abstention for name in plain)
