"""Pools of dialogues: read as a stream, filtered and counted.

A malformed line is counted and reported with its number. It is an error only in strict mode.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import IO, Any

from pydantic_core import from_json

from scaleqa.errors import DataError
from scaleqa.noise.formats import FORMATS, Format, Malformed
from tsim import gzipped
from tsim.errors import InputError
from tsim.toolkit import tokens
from tsim.weights import sha256_of

# Frequent English words; a text with a low share of them is not English.
FUNCTION_WORDS = frozenset(
    "the a an and or but if of to in on at for with from by as is are was were be been am do does "
    "did have has had i you he she it we they me my your his her its our their this that these "
    "those what which who how when where why not no yes can could will would should may there here "
    "about so than then just like some any all more one out up into over also please thanks".split()
)
ENGLISH_SHARE = 0.18
# Bytes that a gzipped file may unpack to.
MOST_BYTES = 1 << 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The conditions for keeping a dialogue.

    Attributes:
        least_turns: Minimum number of turns.
        most_turns: Maximum number of turns; longer dialogues are truncated.
        least_tokens: Minimum number of tokens of the dialogue.
        most_turn_tokens: Maximum number of tokens of a turn.
        english: Whether to drop dialogues in other languages.
    """

    least_turns: int = 2
    most_turns: int = 40
    least_tokens: int = 20
    most_turn_tokens: int = 1500
    english: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialogue:
    """A chat: the texts of alternating turns, starting with the user."""

    id: str
    genre: str
    turns: tuple[str, ...]
    stale: bool = False

    @property
    def tokens(self) -> int:
        """The length of the dialogue in benchmark tokens."""
        return tokens.from_words(sum(len(turn.split()) for turn in self.turns))


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolReport:
    """What was kept and dropped when a pool was read.

    Attributes:
        source: Name of the file.
        sha256: Hash of the file.
        read: Number of dialogues read.
        kept: Number of dialogues kept.
        tokens: Benchmark tokens kept.
        dropped: Number of dialogues dropped, by reason.
        malformed: Numbers of the lines or items that could not be read, with the reasons.
        genres: Number of dialogues kept, by genre.
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
    """The dialogues that were kept, and a report."""

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
        path: The file, optionally compressed as `.gz`.
        form: The name of its format.
        bounds: Which dialogues to keep.
        sha256: The expected hash of the file.
        strict: Whether a malformed line is an error.
        limit: Maximum number of dialogues to keep.

    Raises:
        DataError: The file is missing or has another hash, or a line is malformed in strict mode.
    """
    if form not in FORMATS:
        raise DataError(f"no noise format {form!r}; there are {', '.join(sorted(FORMATS))}")
    if not path.is_file():
        raise DataError(f"{path} does not exist; give the path of a downloaded {form} file")
    found = sha256_of(path)
    if sha256 and found != sha256:
        raise DataError(f"{path} has sha256 {found}, expected {sha256}: it is another version")
    try:
        return _collect(path, FORMATS[form], found, bounds or Bounds(), strict, limit)
    except InputError as error:
        raise DataError(f"{path}: {error}") from None


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
    """Reads items one by one; a format that is a single JSON document is read at once."""
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
            except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
                yield number, Malformed(f"not a {form.name} item ({type(error).__name__}: {error})")


def _json_lines(file: IO[bytes]) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(file, 1):
        if line.strip():
            try:
                yield number, from_json(line)
            except ValueError as error:
                yield number, Malformed(f"not JSON ({error})")


def _json_document(file: IO[bytes]) -> Iterator[tuple[int, Any]]:
    try:
        whole = from_json(file.read())
    except ValueError as error:
        yield 1, Malformed(f"not JSON ({error})")
        return
    if not isinstance(whole, list):
        yield 1, Malformed(f"expected a list, found {type(whole).__name__}")
        return
    yield from enumerate(whole, 1)


def _open(path: Path) -> IO[bytes]:
    if path.suffix == ".gz":
        return gzipped.unpacking(path.open("rb"), most=MOST_BYTES)
    return path.open("rb")


def _alternate(turns: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """Drops turns before the first user turn, and joins consecutive turns of a speaker."""
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
    """Returns why a dialogue is dropped, or None if it is kept."""
    sizes = [tokens.by_words(turn) for turn in turns]
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
    """Returns whether a text is English, judging by its function words."""
    words = [word.strip(".,!?;:\"'()").lower() for word in text.split()]
    return bool(words) and sum(w in FUNCTION_WORDS for w in words) / len(words) >= ENGLISH_SHARE
