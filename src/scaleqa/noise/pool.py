"""Pools of dialogues: read as a stream, filtered, counted.

A malformed line is counted and reported with its number; it stops the load only in strict mode.
"""

import gzip
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import IO, Any, cast

from scaleqa.errors import DataError
from scaleqa.noise.formats import FORMATS, Format, Malformed
from tsim.toolkit import tokens
from tsim.weights import sha256_of

# The most frequent English words; a text in which few of its words are among these is not English.
FUNCTION_WORDS = frozenset(
    "the a an and or but if of to in on at for with from by as is are was were be been am do does "
    "did have has had i you he she it we they me my your his her its our their this that these "
    "those what which who how when where why not no yes can could will would should may there here "
    "about so than then just like some any all more one out up into over also please thanks".split()
)
ENGLISH_SHARE = 0.18


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What a dialogue must be like to be kept.

    Attributes:
        least_turns: Fewest turns.
        most_turns: Most turns; longer dialogues are cut there.
        least_tokens: Fewest tokens in all.
        most_turn_tokens: Longest turn.
        english: Whether other languages are left out.
    """

    least_turns: int = 2
    most_turns: int = 40
    least_tokens: int = 20
    most_turn_tokens: int = 1500
    english: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialogue:
    """A chat: texts of alternating turns, the user first."""

    id: str
    genre: str
    turns: tuple[str, ...]
    stale: bool = False

    @property
    def tokens(self) -> int:
        """Benchmark tokens in all."""
        return tokens.from_words(sum(len(turn.split()) for turn in self.turns))


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolReport:
    """What became of a pool's dialogues.

    Attributes:
        source: Where they came from.
        sha256: Of the file as it is.
        read: Dialogues read.
        kept: Dialogues kept.
        tokens: Benchmark tokens kept.
        dropped: Why others were not, by reason.
        malformed: Line or item numbers that could not be read, and why.
        genres: Dialogues kept by genre.
    """

    source: str
    sha256: str
    read: int
    kept: int
    tokens: int
    dropped: Mapping[str, int] = field(default_factory=dict)
    malformed: tuple[tuple[int, str], ...] = ()
    genres: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Dialogues that were kept, and the report of those that were not."""

    dialogues: tuple[Dialogue, ...]
    report: PoolReport


def shipped_pool() -> Pool:
    """Returns the authored pool that ships with the package."""
    path = resources.files("scaleqa.noise") / "data" / "authored.jsonl"
    with resources.as_file(path) as file:
        return load_pool(file, "authored", strict=True)


def load_pool(
    path: Path,
    form: str,
    *,
    bounds: Bounds | None = None,
    sha256: str | None = None,
    strict: bool = False,
    limit: int | None = None,
) -> Pool:
    """Reads a pool.

    Args:
        path: The file; `.gz` is understood.
        form: The name of its format.
        bounds: What to keep.
        sha256: The hash the file must have.
        strict: Whether a malformed line is an error.
        limit: Most dialogues to keep.

    Raises:
        DataError: The file is missing, has another hash, or (strict) a malformed line.
    """
    if form not in FORMATS:
        raise DataError(f"no noise format {form!r}; there are {', '.join(sorted(FORMATS))}")
    if not path.is_file():
        raise DataError(f"{path} does not exist; give the path of a downloaded {form} file")
    found = sha256_of(path)
    if sha256 and found != sha256:
        raise DataError(f"{path} has sha256 {found}, expected {sha256}: it is another version")
    return _collect(path, FORMATS[form], found, bounds or Bounds(), strict, limit)


def _collect(
    path: Path, form: Format, sha256: str, bounds: Bounds, strict: bool, limit: int | None
) -> Pool:
    kept: list[Dialogue] = []
    dropped: Counter[str] = Counter()
    malformed: list[tuple[int, str]] = []
    seen: set[bytes] = set()
    read = 0
    for number, item in _items(path, form):
        if isinstance(item, Malformed):
            if strict:
                raise DataError(f"{path}, item {number}: {item.problem}")
            malformed.append((number, item.problem))
            continue
        read += 1
        turns = _alternate(item.turns)[: bounds.most_turns]
        reason = _reason(turns, bounds)
        key = hashlib.sha256(" ".join("\0".join(turns).lower().split()).encode()).digest()
        if reason is None and key in seen:
            reason = "duplicate"
        if reason:
            dropped[reason] += 1
            continue
        seen.add(key)
        kept.append(
            Dialogue(id=f"{form.name}-{read:06d}", genre=item.genre, turns=turns, stale=item.stale)
        )
        if limit and len(kept) >= limit:
            break
    report = PoolReport(
        source=path.name,
        sha256=sha256,
        read=read,
        kept=len(kept),
        tokens=sum(dialogue.tokens for dialogue in kept),
        dropped=dict(sorted(dropped.items())),
        malformed=tuple(malformed),
        genres=dict(sorted(Counter(dialogue.genre for dialogue in kept).items())),
    )
    return Pool(dialogues=tuple(kept), report=report)


def _items(path: Path, form: Format) -> Iterator[tuple[int, Any]]:
    """Reads items one by one; formats that are one JSON document are read whole."""
    with _open(path) as file:
        if form.lines:
            values: Iterator[tuple[int, Any]] = _json_lines(file)
        else:
            values = _json_document(file)
        for number, value in values:
            if isinstance(value, Malformed):
                yield number, value
                continue
            if not isinstance(value, dict):
                yield number, Malformed(f"expected an object, found {type(value).__name__}")
                continue
            try:
                for item in form.parse(value):
                    yield number, item
            except (KeyError, TypeError, ValueError, IndexError) as error:
                yield number, Malformed(f"not a {form.name} item ({type(error).__name__}: {error})")


def _json_lines(file: IO[bytes]) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(file, 1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except ValueError as error:
                yield number, Malformed(f"not JSON ({error})")


def _json_document(file: IO[bytes]) -> Iterator[tuple[int, Any]]:
    try:
        whole = json.loads(file.read())
    except ValueError as error:
        yield 1, Malformed(f"not JSON ({error})")
        return
    if not isinstance(whole, list):
        yield 1, Malformed(f"expected a list, found {type(whole).__name__}")
        return
    yield from enumerate(whole, 1)


def _open(path: Path) -> IO[bytes]:
    if path.suffix == ".gz":
        return cast(IO[bytes], gzip.open(path, "rb"))
    return path.open("rb")


def _alternate(turns: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """Starts at the first user turn and joins turns in a row of the same speaker."""
    out: list[str] = []
    last = "model"
    for role, text in turns:
        cleaned = text.replace("\r\n", "\n").strip()
        if not cleaned or (not out and role != "user"):
            continue
        if role == last and out:
            out[-1] += "\n" + cleaned
        else:
            out.append(cleaned)
        last = role
    return tuple(out)


def _reason(turns: tuple[str, ...], bounds: Bounds) -> str | None:
    """Says why a dialogue is not kept, or nothing."""
    sizes = [tokens.estimate(turn) for turn in turns]
    if len(turns) < bounds.least_turns:
        return "too few turns"
    if sum(sizes) < bounds.least_tokens:
        return "too short"
    if max(sizes) > bounds.most_turn_tokens:
        return "a turn too long"
    if bounds.english and not is_english(" ".join(turns)):
        return "not English"
    return None


def is_english(text: str) -> bool:
    """Tells English from other languages by its function words."""
    words = [word.strip(".,!?;:\"'()").lower() for word in text.split()]
    return bool(words) and sum(w in FUNCTION_WORDS for w in words) / len(words) >= ENGLISH_SHARE
