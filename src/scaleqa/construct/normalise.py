"""Deterministic normalisation of a dialogue and question that were written together."""

import random
import re
from typing import Any

from scaleqa.construct.replies import Realised
from scaleqa.records.schema import LETTERS, Letter

ROLES = {"assistant": "model", "ai": "model", "bot": "model", "human": "user"}
# A letter or number that a writer put before an option.
LABEL = re.compile(r"^\s*(?:\(?[A-Da-d1-4][).:]\s+|[-*•]\s+)")
SPACE = re.compile(r"\s+")


def normalised(reply: Realised, drawn: Letter, rng: random.Random) -> dict[str, Any]:
    """Brings a reply into the form of records.

    Roles have our names, turns of one speaker in a row are one turn, spaces and labels of options
    are removed, and options are ordered so that the right one has the drawn letter.

    Args:
        reply: The reply.
        drawn: The letter that was drawn.
        rng: Orders the wrong options.
    """
    turns: list[dict[str, str]] = []
    places: list[int] = []
    for turn in reply.dialogue:
        role = turn.role.strip().lower()
        role, content = ROLES.get(role, role), _plain(turn.content)
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += f" {content}"
        else:
            turns.append({"role": role, "content": content})
        places.append(len(turns) - 1)
    options = [LABEL.sub("", _plain(option)) for option in reply.options]
    wrong = [option for place, option in enumerate(options, 1) if place != reply.right]
    rng.shuffle(wrong)
    wrong.insert(LETTERS.index(drawn), options[reply.right - 1])
    inside = [place for place in reply.evidence if 0 <= place < len(places)]
    outside = [place for place in reply.evidence if place not in inside]
    return {
        "dialogue": turns,
        "question": _plain(reply.question),
        "options": wrong,
        "letter": drawn,
        # What is outside stays outside, so that it is found and said.
        "evidence": sorted({places[place] for place in inside} | {*outside}),
        "reasoning": _plain(reply.reasoning),
        "stress": reply.stress.model_dump(),
    }


def _plain(text: str) -> str:
    return SPACE.sub(" ", text).strip()
