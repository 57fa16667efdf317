"""Judges, which grade replies: by letter, by text, by words in common, or with a language model."""

from scaleqa.judges.declaration import JudgeDeclaration
from scaleqa.judges.model import ModelJudge, Rubric
from scaleqa.judges.protocol import Judge, Task, Verdict
from scaleqa.judges.registry import find_judge, judge_names, judges, open_judge

__all__ = [
    "Judge",
    "JudgeDeclaration",
    "ModelJudge",
    "Rubric",
    "Task",
    "Verdict",
    "find_judge",
    "judge_names",
    "judges",
    "open_judge",
]
