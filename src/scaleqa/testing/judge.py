"""The conformance suite for judges. Subclass it and implement `open_judge`.

class TestMyJudge(JudgeConformance):
    def open_judge(self, model):
        return MyJudge()
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from scaleqa.backends import ChatModel, Function, Message, Reply
from scaleqa.judges import Judge, ModelJudge, Task, Verdict
from scaleqa.prompts import ABSTAIN

# Replies that hold no answer, or hardly one.
ODD = ("", "\n", "ANSWER:", "ANSWER: ?", "RATIONALE: none", "\x00", "{}", "ANSWER: a\nANSWER: b")


class AgreeableChat:
    """A chat model that says yes, and remembers what it was asked."""

    identity = "agreeable"

    def __init__(self) -> None:
        """Was asked nothing yet."""
        self.asked: list[str] = []

    def chat(
        self,
        messages: Sequence[Message],
        functions: Sequence[Function] = (),
        *,
        most_tokens: int = 300,
        response_format: Mapping[str, Any] | None = None,
    ) -> Reply:
        """Says yes."""
        self.asked.append(messages[-1].content)
        return Reply(text="Yes.", prompt_tokens=7, completion_tokens=1)

    def close(self) -> None:
        """Holds nothing."""


class JudgeConformance:
    """Behaviour that the benchmark relies on.

    Attributes:
        gold: A correct answer.
        options: The options, for judges of letters.
        kind: A type of question that the judge knows.
        reads_forms: Whether the fixed form of abstention decides; False for judges that read any
            words as an abstention.
    """

    gold: ClassVar[str] = "Lyon"
    options: ClassVar[Mapping[str, str] | None] = None
    kind: ClassVar[str | None] = None
    reads_forms: ClassVar[bool] = True

    @abstractmethod
    def open_judge(self, model: ChatModel) -> Judge:
        """Opens the judge; one that asks a model asks this one."""

    def test_the_correct_answer_is_correct(self) -> None:
        """In the form that prompts ask for, with the rationale beside it."""
        verdict = self._grade(f"ANSWER: {self.gold}\nRATIONALE: it was said so")
        assert verdict.correct
        assert verdict.answer == self.gold
        assert verdict.rationale == "it was said so"
        assert not verdict.abstained

    def test_no_answer_is_wrong(self) -> None:
        """And nobody is asked about it."""
        model = AgreeableChat()
        verdict = self.open_judge(model).grade(self._task(), "")
        assert (verdict.answer, verdict.correct) == (None, False)
        assert model.asked == []

    def test_the_same_reply_gets_the_same_verdict(self) -> None:
        """From another instance as well, whatever was graded before; scores are shares."""
        judge, again = self.open_judge(AgreeableChat()), self.open_judge(AgreeableChat())
        assert judge.identity == again.identity
        for reply in (*ODD, f"ANSWER: {self.gold}"):
            verdict = judge.grade(self._task(), reply)
            assert verdict == again.grade(self._task(), reply)
            assert verdict.score is None or 0 <= verdict.score <= 1

    def test_the_identity_is_one_line(self) -> None:
        """It names files and is recorded in rows."""
        identity = self.open_judge(AgreeableChat()).identity
        assert identity.strip() == identity != ""
        assert identity.isprintable()

    def test_abstaining_is_right_about_absent_matters_alone(self) -> None:
        """Where the prompt offers it; the form has no meaning elsewhere."""
        if not self.reads_forms:
            pytest.skip("the judge reads any words as an abstention")
        reply = f"ANSWER: {ABSTAIN}\nRATIONALE: nothing"
        offered = replace(self._task(), may_abstain=True)
        for task, right in ((offered, False), (replace(offered, absent=True), True)):
            verdict = self._grade(reply, task)
            assert (verdict.answer, verdict.correct, verdict.abstained) == (None, right, True)
        wrong = self._grade(f"ANSWER: {self.gold}", replace(offered, absent=True))
        assert (wrong.correct, wrong.abstained) == (False, False)
        assert not self._grade(reply).abstained

    def test_what_a_model_said_is_in_the_verdict(self) -> None:
        """With what it cost; requests and replies can also travel apart."""
        model = AgreeableChat()
        judge = self.open_judge(model)
        verdict = judge.grade(self._task(), f"ANSWER: {self.gold}")
        assert (verdict.heard is not None) is bool(model.asked)
        if isinstance(judge, ModelJudge):
            asked = judge.request(self._task(), f"ANSWER: {self.gold}")
            assert [asked] == model.asked
            said = Reply(text="No.")
            assert not judge.heard(self._task(), f"ANSWER: {self.gold}", said).correct

    def _task(self) -> Task:
        return Task(question="Where?", gold=self.gold, options=self.options, kind=self.kind)

    def _grade(self, reply: str, task: Task | None = None) -> Verdict:
        return self.open_judge(AgreeableChat()).grade(task or self._task(), reply)
