"""Records, noise, sequels, wordings, asides and lives whose words depend on their numbers alone."""

import json
from pathlib import Path
from typing import Any

from scaleqa.noise import Dialogue
from scaleqa.packages import BuildSettings
from scaleqa.records import LETTERS, SPLITS, Aside, Life, Record, Sequel, Wording
from scaleqa.records.draw import letter

WORDS = (
    "cable oven ledger violin harbour bandage turbine pencil carpet lemon orbit saddle quarry "
    "lantern thimble gravel mosaic pepper anchor velvet copper willow magnet barley"
).split()


def make(number: int = 1, *, split: str = "s1", domain: str = "Finance", **changes: Any) -> Record:
    """A record whose words depend on its number alone."""

    def some(start: int, count: int) -> str:
        words = [
            f"{WORDS[(number * 7 + start + n * (number % 5 + 1)) % len(WORDS)]}{number}x{n}"
            for n in range(count)
        ]
        return " ".join(words)

    fields = {
        "id": f"{split}:{domain}-{number:03d}",
        "split": split,
        "domain": domain,
        "dialogue": [
            {"role": ("user", "model")[n % 2], "content": f"{some(n, 13)}."} for n in range(7)
        ],
        "question": f"Which {some(3, 6)} do we take?",
        "options": {key: some(40 + n, 3) for n, key in enumerate(LETTERS)},
        "answer": letter(f"{split}:{domain}-{number:03d}"),
        "evidence": [2],
        "reasoning": "Because the rule says so.",
        "stress": {"labels": ["constraint_trap"], "primary": "constraint_trap"},
    }
    return Record.model_validate(fields | changes)


def write(path: Path, records: list[Record]) -> Path:
    path.write_text("".join(record.model_dump_json() + "\n" for record in records))
    return path


def follow(record: Record, *, named: bool = False, **changes: Any) -> Sequel:
    """A sequel whose words depend on its record's id alone."""
    fields = {
        "id": record.id,
        "named": named,
        "dialogue": [
            {"role": ("user", "model")[n % 2], "content": f"later {record.id} goes on {n}"}
            for n in range(4)
        ],
        "answer": LETTERS[(LETTERS.index(record.answer) + 1) % 4],
        "evidence": [2],
        "keeps": [1, 4],
        "reasoning": f"It changed for {record.id}.",
    }
    return Sequel.model_validate(fields | changes)


def reword(record: Record, question: str | None = None) -> Wording:
    """A second wording without a word of its record."""
    number = int(record.id.rsplit("-", 1)[1])
    words = "alpine brisk cosy dainty eager fuzzy gentle humble ivory jolly".split()
    text = f"Is the {words[number % 10]} {words[number // 10 % 10]} one of {record.split} fine?"
    return Wording(id=record.id, question=question or text)


def aside(number: int = 1, *, split: str = "s1", **changes: Any) -> Aside:
    """An aside whose words depend on its number alone."""
    name = f"{split}:Aside-{number:03d}"
    fields = {
        "id": name,
        "split": split,
        "kind": "health",
        "dialogue": [
            {"role": "user", "content": f"Please shorten letter {number} to my landlord."},
            {"role": "model", "content": f"Here is a shorter letter {number}, in two lines."},
            {
                "role": "user",
                "content": f"Perfect {number}, by the way plums give me hives {split}.",
            },
            {"role": "model", "content": f"Glad letter {number} reads well, anything else?"},
        ],
        "question": f"Which dessert{number} suits{number} our guests{number}?",
        "options": {key: f"cake {key} {number}" for key in LETTERS},
        "answer": letter(name) if split in SPLITS else "A",
        "evidence": [2],
        "fact": "by the way plums give me hives",
        "inference": number % 2 == 0,
        "reasoning": "Plums are out.",
    }
    return Aside.model_validate(fields | changes)


def life(number: int = 1, *, split: str = "s1", kind: str = "friends") -> Life:
    """A life of three sessions with a question of each domain; words depend on its number."""
    name = f"{split}:Talk-{number:02d}"
    speakers = ["Ada", "Bo"] if kind == "friends" else ["user", "model"]
    birds = ("heron", "osprey", "plover", "pelican")

    def turn(session: int, place: int) -> dict[str, str]:
        words = [f"{birds[(place + n) % 4]}{number}x{session}x{place}" for n in range(4)]
        return {"speaker": speakers[place % 2], "text": f"{' '.join(words)} {split} flew."}

    questions = [
        ("How many geese?", [[0, 0]], "plain"),
        ("Which barn did they paint?", [[1, 3]], "other"),
        ("Which boats sank?", [[0, 1], [2, 2]], "plain"),
        ("Whose soup burnt?", [[1, 0], [2, 3]], "other"),
    ]
    fields = {
        "id": name,
        "split": split,
        "kind": kind,
        "speakers": speakers,
        "sessions": [[turn(session, place) for place in range(4)] for session in range(3)],
        "questions": [
            {
                "id": f"{name}-{n:02d}",
                "question": question,
                "answer": f"answer {n}",
                "evidence": evidence,
                "wording": wording,
            }
            for n, (question, evidence, wording) in enumerate(questions, 1)
        ],
    }
    return Life.model_validate_json(json.dumps(fields))


RECORDS = [make(n, split=split) for split in SPLITS for n in range(1, 31)]
NOISE = [
    Dialogue(
        id=f"n{n:03d}",
        genre="chat",
        turns=tuple(f"noise{n} says {t} " * (1 + n % 9) for t in range(2 + n % 7)),
    )
    for n in range(120)
]


def settings_of(target: int, **changes: Any) -> BuildSettings:
    return BuildSettings(target=target, **changes)


WORDINGS = [reword(record) for n, record in enumerate(RECORDS) if n % 3 == 0]
TALK = [
    life(number, split=split, kind=kind)
    for split in SPLITS
    for number, kind in (
        (1, "friends"),
        (2, "friends"),
        (3, "assistant"),
        (4, "assistant"),
        (5, "answers"),
        (6, "answers"),
    )
]
ASIDES = [aside(n, split=split) for split in SPLITS for n in range(1, 21)]
SEQUELS = [follow(record, named=n % 2 == 0) for n, record in enumerate(RECORDS) if n % 5 == 0]
