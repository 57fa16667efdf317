"""Packages: a flat thread, its questions, and the origin of every turn."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from scaleqa.errors import DataError
from tsim import unfinished
from tsim.toolkit import tokens

STREAM = "stream.jsonl"
QUERIES = "EVALUATION_QUERIES.jsonl"
TRUTH = "GROUND_TRUTH_HISTORY.jsonl"
NOISE = "NOISE.jsonl"
IDS = "selected_ids.json"
STATS = "stats.json"
MANIFEST = "manifest.json"
# The judge of questions that name none.
LETTER = "letter"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamTurn:
    """A turn of the thread: everything that a system sees.

    Attributes:
        id: Its place in the thread.
        role: The speaker.
        text: What was said.
        at: When it was said, in seconds since the epoch, if the data set has times.
    """

    id: int
    role: str
    text: str
    at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question about the thread. Fields that a data set does not provide are None or empty.

    Attributes:
        id: Unique within the data set.
        question: The text of the question.
        evidence: Ids of the turns that determine the answer.
        options: The options by letter; None if the answer is free text.
        answer: The correct answer: a letter if there are options, otherwise a text.
        grader: The judge that grades replies; see `scaleqa.judges`.
        at: When it is asked, in seconds since the epoch, if the data set has times.
        domain: The domain, or the data set's own type of question.
        split: The split of the data set.
        stress: Labels for what makes the question hard, the primary one first.
        reasoning: Why the answer is correct.
    """

    id: str
    question: str
    options: Mapping[str, str] | None = None
    answer: str | None = None
    evidence: tuple[int, ...]
    domain: str | None = None
    split: str | None = None
    stress: tuple[str, ...] = ()
    reasoning: str | None = None
    grader: str = LETTER
    at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A dialogue and the ids of its turns in the thread."""

    source: str
    turns: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """One thread with its questions.

    Attributes:
        name: The name of its directory.
        stream: The thread.
        questions: The questions, in the order they are asked.
        truth: The dialogues that questions are about.
        noise: The dialogues that fill the thread.
        settings: How the package was built.
    """

    name: str
    stream: tuple[StreamTurn, ...]
    questions: tuple[Question, ...]
    truth: tuple[Block, ...]
    noise: tuple[Block, ...]
    settings: Mapping[str, Any]

    @property
    def dialogues(self) -> tuple[tuple[int, ...], ...]:
        """The turns of every dialogue, truth and noise, ordered by first turn."""
        return tuple(sorted(block.turns for block in (*self.truth, *self.noise)))

    @property
    def sha256(self) -> str:
        """A hash of the thread and the questions."""
        said = [
            [turn.role, turn.text] if turn.at is None else [turn.role, turn.text, turn.at]
            for turn in self.stream
        ]
        asked = [_described(question) for question in self.questions]
        return hashlib.sha256(json.dumps([said, asked]).encode()).hexdigest()

    @property
    def stats(self) -> dict[str, Any]:
        """Counts of turns, tokens, questions and dialogues."""
        words = [len(turn.text.split()) for turn in self.stream]
        own = {turn for block in self.truth for turn in block.turns}
        truth = sum(words[turn] for turn in own)
        return {
            "turns": len(self.stream),
            "tokens": tokens.from_words(sum(words)),
            "truth_tokens": tokens.from_words(truth),
            "noise_tokens": tokens.from_words(sum(words) - truth),
            "queries": len(self.questions),
            "truth_dialogues": len(self.truth),
            "noise_dialogues": len(self.noise),
        }


def write_packages(packages: Sequence[Package], out: Path) -> None:
    """Writes each package to a directory of its own; all appear, or none.

    Raises:
        DataError: `out` is not empty.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise DataError(f"{out} is not an empty directory; name a new one, or remove it first")
    out.parent.mkdir(parents=True, exist_ok=True)
    with unfinished.scratch(out.parent) as part:
        _write_all(packages, part / "packages")
        if out.exists():
            out.rmdir()
        (part / "packages").rename(out)


def _write_all(packages: Sequence[Package], out: Path) -> None:
    for package in packages:
        directory = out / package.name
        directory.mkdir(parents=True)
        files = {
            STREAM: _lines(_said(turn) for turn in package.stream),
            QUERIES: _lines(_described(question) for question in package.questions),
            TRUTH: _lines(asdict(block) for block in package.truth),
            NOISE: _lines(asdict(block) for block in package.noise),
            IDS: _document([question.id for question in package.questions]),
            STATS: _document(package.stats),
        }
        for name, content in files.items():
            (directory / name).write_bytes(content)
        hashes = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
        manifest = {"name": package.name, "settings": package.settings, "sha256": hashes}
        (directory / MANIFEST).write_bytes(_document(manifest))


def load_packages(path: Path) -> list[Package]:
    """Reads a package, or all packages in a directory, and checks every hash.

    Raises:
        DataError: There is no package, or a file was changed.
    """
    if (path / MANIFEST).is_file():
        return [_load(path)]
    found = sorted(p.parent for p in path.glob(f"*/{MANIFEST}")) if path.is_dir() else []
    if not found:
        raise DataError(f"{path} contains no package; build one with: scaleqa build --out {path}")
    return [_load(directory) for directory in found]


def _load(directory: Path) -> Package:
    try:
        manifest = json.loads((directory / MANIFEST).read_bytes())
        hashes, name, settings = manifest["sha256"], manifest["name"], manifest["settings"]
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{directory / MANIFEST} is damaged; build the package again") from error
    return _read(directory, hashes, name, settings)


def _read(
    directory: Path, hashes: Mapping[str, str], title: str, settings: Mapping[str, Any]
) -> Package:
    contents = {}
    for name, expected in hashes.items():
        try:
            contents[name] = (directory / name).read_bytes()
        except FileNotFoundError:
            raise DataError(f"{directory / name} is missing; build the package again") from None
        found = hashlib.sha256(contents[name]).hexdigest()
        if found != expected:
            raise DataError(
                f"{directory / name} has sha256 {found}, the manifest says {expected}: it was "
                "changed after it was built; build the package again"
            )
    return Package(
        name=title,
        stream=tuple(StreamTurn(**row) for row in _rows(contents[STREAM])),
        questions=tuple(_question(row) for row in _rows(contents[QUERIES])),
        truth=_blocks(contents[TRUTH]),
        noise=_blocks(contents[NOISE]),
        settings=settings,
    )


def _said(turn: StreamTurn) -> dict[str, Any]:
    """Returns the fields of a turn; a time that is not known is omitted."""
    return {name: value for name, value in asdict(turn).items() if value is not None}


def _described(question: Question) -> dict[str, Any]:
    """Returns the fields of a question; defaults are omitted."""
    absent = {"grader": LETTER, "stress": ()}
    return {
        name: value
        for name, value in asdict(question).items()
        if value is not None and absent.get(name) != value
    }


def _question(row: dict[str, Any]) -> Question:
    stress = tuple(row.get("stress", ()))
    return Question(**{**row, "evidence": tuple(row["evidence"]), "stress": stress})


def _blocks(content: bytes) -> tuple[Block, ...]:
    return tuple(Block(source=row["source"], turns=tuple(row["turns"])) for row in _rows(content))


def _rows(content: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in content.splitlines()]


def _lines(rows: Iterable[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def _document(value: Any) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True) + "\n").encode()
