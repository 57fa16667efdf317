"""Records, noise and sequels whose words depend on their numbers alone."""

from pathlib import Path

from scaleqa.noise import Dialogue
from scaleqa.packages import BuildSettings
from scaleqa.records import LETTERS, SPLITS, Record, Sequel
from scaleqa.records.draw import letter

WORDS = (
    "cable oven ledger violin harbour bandage turbine pencil carpet lemon orbit saddle quarry "
    "lantern thimble gravel mosaic pepper anchor velvet copper willow magnet barley"
).split()


def make(number: int = 1, *, split: str = "s1", domain: str = "Finance", **changes) -> Record:
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


def follow(record, *, named: bool = False, **changes) -> Sequel:
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


RECORDS = [make(n, split=split) for split in SPLITS for n in range(1, 31)]
NOISE = [
    Dialogue(
        id=f"n{n:03d}",
        genre="chat",
        turns=tuple(f"noise{n} says {t} " * (1 + n % 9) for t in range(2 + n % 7)),
    )
    for n in range(120)
]


def settings_of(target: int, **changes) -> BuildSettings:
    return BuildSettings(target=target, **changes)


SEQUELS = [follow(record, named=n % 2 == 0) for n, record in enumerate(RECORDS) if n % 5 == 0]
