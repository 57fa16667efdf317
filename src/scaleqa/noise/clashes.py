"""Names that occur both in noise and in questions, which must not happen."""

from collections.abc import Sequence

from scaleqa.noise.pool import Dialogue
from scaleqa.records import Record
from scaleqa.records.text import common_words, names


def clashes(dialogues: Sequence[Dialogue], records: Sequence[Record]) -> dict[str, list[str]]:
    """Returns names from questions that also occur in noise, with the ids of the dialogues."""
    noise = {dialogue.id: "\n".join(dialogue.turns) for dialogue in dialogues}
    texts = [f"{record.question}\n{record.text}" for record in records]
    common = common_words([*texts, *noise.values()])
    anchors = {name for record in records for name in names(record.question, common)}
    found: dict[str, list[str]] = {}
    for dialogue, text in noise.items():
        for name in names(text, common) & anchors:
            found.setdefault(name, []).append(dialogue)
    return dict(sorted(found.items()))
