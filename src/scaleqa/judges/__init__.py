"""Judges, which grade replies: by letter, by exact text, or with a language model."""

from scaleqa.judges.protocol import Judge, Task, Verdict
from scaleqa.judges.registry import judge_names, open_judge

__all__ = ["Judge", "Task", "Verdict", "judge_names", "open_judge"]
