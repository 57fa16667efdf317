"""Where items come from: our records, chats of public corpora, questions of other benchmarks.

All sources become candidates of one form. Conversations are of a user and an assistant; what is
longer than raters are to read is cut around the evidence if there is any, and left out otherwise.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from scaleqa.audit.items import OPTIONS, Origin, ShownTurn
from scaleqa.datasets.registry import open_threads
from scaleqa.errors import DataError
from scaleqa.noise import FORMATS, load_pool
from scaleqa.noise.pool import Bounds
from scaleqa.packages import Package, Question
from scaleqa.records import LETTERS, Record
from scaleqa.specs import Spec
from tsim.toolkit import tokens

OURS = "scaleqa"
SPEAKERS = ("user", "model")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """What could become an item; fields as there."""

    origin: Origin
    dialogue: tuple[ShownTurn, ...]
    question: str | None = None
    options: tuple[str, ...] = ()
    answer: str | None = None

    @property
    def name(self) -> str:
        """An id among the candidates of all sources."""
        return f"{self.origin.source} {self.origin.ref}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The candidates of one source.

    Attributes:
        name: What it is called.
        sha256: Hash of what was read.
        candidates: What can be shown.
        left_out: How many could not, by reason.
    """

    name: str
    sha256: str
    candidates: tuple[Candidate, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengths:
    """How long the conversations of other sources may be, so that length tells little.

    Attributes:
        least_turns: Fewest turns.
        most_turns: Most turns.
        most_tokens: Most benchmark tokens.
    """

    least_turns: int = 3
    most_turns: int = 20
    most_tokens: int = 600


def from_records(records: Sequence[Record], *, name: str = OURS) -> Source:
    """Our records, with question and options."""
    candidates = [
        Candidate(
            origin=Origin(
                source=name,
                ref=record.id,
                domain=record.domain,
                split=record.split,
                stress=record.labels,
            ),
            dialogue=tuple(
                ShownTurn(role=turn.role, text=turn.content.strip()) for turn in record.dialogue
            ),
            question=record.question,
            options=tuple(record.options.as_list()),
            answer=record.answer,
        )
        for record in records
    ]
    digest = hashlib.sha256("".join(record.model_dump_json() for record in records).encode())
    return Source(name=name, sha256=digest.hexdigest(), candidates=tuple(candidates))


def from_corpus(spec: str, lengths: Lengths) -> Source:
    """Chats of a public corpus: `FORMAT:file=PATH`.

    Raises:
        DataError: The format is unknown, the file cannot be used, or no chat is short enough.
    """
    parsed = Spec.parse(spec)
    if parsed.name not in FORMATS or {*parsed.options} != {"file"}:
        raise DataError(
            f"{spec!r} is no corpus; expected FORMAT:file=PATH, where FORMAT is one of "
            f"{', '.join(sorted(FORMATS))}"
        )
    bounds = Bounds(least_turns=lengths.least_turns)
    pool = load_pool(Path(parsed.options["file"]), parsed.name, bounds=bounds)
    left_out = Counter(pool.report.dropped)
    candidates = []
    for chat in pool.dialogues:
        if chat.tokens > lengths.most_tokens or len(chat.turns) > lengths.most_turns:
            left_out["too long"] += 1
            continue
        candidates.append(
            Candidate(
                origin=Origin(source=parsed.name, ref=chat.id, domain=chat.genre),
                dialogue=tuple(
                    ShownTurn(role="model" if number % 2 else "user", text=text)
                    for number, text in enumerate(chat.turns)
                ),
            )
        )
    if pool.report.malformed:
        left_out["malformed"] = len(pool.report.malformed)
    return _source(parsed.name, pool.report.sha256, candidates, left_out)


def from_dataset(spec: str, lengths: Lengths) -> Source:
    """Questions of another benchmark, each with the dialogue that holds its evidence.

    Raises:
        DataError: The data set cannot be used, or nothing of it can be shown.
    """
    packages = open_threads(spec)
    name = Spec.parse(spec).name
    candidates: dict[str, Candidate] = {}
    left_out: Counter[str] = Counter()
    for package in packages:
        for question in package.questions:
            dialogue = _around(package, question, lengths)
            if isinstance(dialogue, str):
                left_out[dialogue] += 1
                continue
            found = _asked(name, question, dialogue)
            candidates.setdefault(found.origin.ref, found)
    digest = hashlib.sha256("".join(package.sha256 for package in packages).encode())
    return _source(name, digest.hexdigest(), candidates.values(), left_out)


def without_options(candidate: Candidate) -> Candidate:
    """The same, asked without options."""
    return replace(candidate, options=(), answer=None)


def without_question(candidate: Candidate) -> Candidate:
    """The dialogue alone."""
    return replace(candidate, question=None, options=(), answer=None)


def _source(
    name: str, sha256: str, candidates: Iterable[Candidate], left_out: Mapping[str, int]
) -> Source:
    found = tuple(sorted(candidates, key=lambda one: one.name))
    if not found:
        reasons = ", ".join(f"{count} {reason}" for reason, count in left_out.items()) or "none"
        raise DataError(f"{name} has nothing that can be shown to raters; left out: {reasons}")
    return Source(
        name=name, sha256=sha256, candidates=found, left_out=dict(sorted(left_out.items()))
    )


def _asked(name: str, question: Question, dialogue: tuple[ShownTurn, ...]) -> Candidate:
    options = tuple(question.options.values()) if question.options else ()
    choice = len(options) == OPTIONS and question.answer in LETTERS
    return Candidate(
        origin=Origin(
            source=name,
            ref=question.id,
            domain=question.domain or "",
            split=question.split or "",
            stress=question.stress,
        ),
        dialogue=dialogue,
        question=question.question.strip(),
        options=options if choice else (),
        answer=question.answer if choice else None,
    )


def _around(package: Package, question: Question, lengths: Lengths) -> tuple[ShownTurn, ...] | str:
    """The dialogue that holds the evidence, or as much around it as may be; else why not."""
    blocks = [block for block in package.truth if {*block.turns} & {*question.evidence}]
    if len(blocks) != 1:
        return "evidence in several dialogues"
    turns = [package.stream[turn] for turn in blocks[0].turns]
    if not {turn.role for turn in turns} <= {*SPEAKERS}:
        return "not of a user and an assistant"
    places = [place for place, turn in enumerate(turns) if turn.id in question.evidence]
    sizes = [tokens.by_words(turn.text) for turn in turns]
    low, high = places[0], places[-1]
    if turns[low].role != "user" and low:
        low -= 1
    if sum(sizes[low : high + 1]) > lengths.most_tokens:
        return "too long"
    low, high = _widened(sizes, low, high, lengths)
    shown = _alternating((turn.role, turn.text) for turn in turns[low : high + 1])
    return shown if len(shown) >= 2 else "too few turns"


def _widened(sizes: Sequence[int], low: int, high: int, lengths: Lengths) -> tuple[int, int]:
    """Adds whole turns after and before, in pairs before so that the user still begins."""

    def fits(start: int, end: int) -> bool:
        inside = start >= 0 and end < len(sizes) and end - start < lengths.most_turns
        return inside and sum(sizes[start : end + 1]) <= lengths.most_tokens

    while True:
        after, before = fits(low, high + 1), fits(low - 2, high + 1) or fits(low - 2, high)
        if not (after or before):
            return low, high
        high += after
        low -= 2 * fits(low - 2, high)


def _alternating(turns: Iterable[tuple[str, str]]) -> tuple[ShownTurn, ...]:
    """Joins neighbouring turns of one speaker; empty ones are left out."""
    out: list[ShownTurn] = []
    for role, text in turns:
        said = text.strip()
        if not said:
            continue
        if out and out[-1].role == role:
            out[-1] = ShownTurn(role=out[-1].role, text=f"{out[-1].text}\n{said}")
        else:
            out.append(ShownTurn(role="user" if role == "user" else "model", text=said))
    return tuple(out)
