"""How the authors of LoCoMo compare answers (Maharana et al., 2024).

Words are compared by stem, without commas, punctuation and articles, "and" among these. Answers to
multi-hop questions are lists: each part of the gold text counts with the best part of the answer.
Of the gold text of an open-domain question, only what comes before a semicolon counts. A question
about something that was never said is answered correctly by saying so.
"""

import re
import statistics
import string

from scaleqa.judges.porter import stem
from scaleqa.judges.protocol import Task
from scaleqa.judges.words import overlap

MULTI_HOP, OPEN_DOMAIN = "multi-hop", "open-domain"
NOTHING_SAID = ("no information available", "not mentioned")
ARTICLES = re.compile(r"\b(?:a|an|the|and)\b")
PUNCTUATION = str.maketrans("", "", string.punctuation)


def score(task: Task, answer: str) -> float:
    """Returns the F1 of an answer, by the type of its question."""
    if task.absent:
        return float(any(words in answer.lower() for words in NOTHING_SAID))
    if task.kind == MULTI_HOP:
        said = [stems(part) for part in answer.split(",")]
        wanted = [stems(part) for part in task.gold.split(",")]
        return statistics.fmean(max(overlap(one, part) for one in said) for part in wanted)
    gold = task.gold.split(";")[0] if task.kind == OPEN_DOMAIN else task.gold
    return overlap(stems(answer), stems(gold))


def stems(text: str) -> list[str]:
    """Returns the stems of the words of a text."""
    plain = ARTICLES.sub(" ", text.lower().translate(PUNCTUATION))
    return [stem(word) for word in plain.split()]
