"""A conversation that is long enough to be shortened."""

from typing import Any

RULE = "From May on, new projects of Halden run on one consumer GPU."
QUESTION = "Which GPU should new projects of Halden run on?"
SUBJECTS = "bread trains letters gardens violins harbours winter kettles maps bridges".split()


def user(text: Any) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def talk(exchanges: int = 10) -> list[dict[str, Any]]:
    """The rule comes first, then other subjects, one after another."""
    said = [user(RULE), assistant("Noted: one consumer GPU for new projects.")]
    for number in range(exchanges):
        subject = SUBJECTS[number % len(SUBJECTS)]
        about = " ".join(f"{subject} {word}{number}" for word in ("old", "new", "broken", "dear"))
        said += [user(f"Tell me about {about}, please."), assistant(f"There is much on {about}.")]
    return said
