"""Requests by file: whoever answers them gets one file, and gives back another.

Providers answer a batch at a discount, hours later, and blind readers take their time, so nothing
can be written back between two questions: a batch is a run without write-back. Requests have the
form of OpenAI's batch API; a second file holds what rows need besides the answers. Keys of requests
tell neither system nor question.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scaleqa.backends import ChatModel, Reply, Request
from scaleqa.backends.batchfile import request_line, to_lines
from scaleqa.backends.openai import answer_body
from scaleqa.errors import DataError
from scaleqa.evaluate.exported import UNREAD, Exported, rows_beside
from scaleqa.evaluate.feed import fed_system
from scaleqa.evaluate.grading import Grading, Reading
from scaleqa.evaluate.loop import RunSettings, run_of
from scaleqa.evaluate.rowfile import write_whole
from scaleqa.evaluate.rows import Row
from scaleqa.packages import Package, in_sample_order
from scaleqa.prompts import Template
from scaleqa.systems import Tools, check_systems
from tsim.embed import Embedder

# Of samples.
SEED = 23


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSettings:
    """What is exported.

    Attributes:
        systems: Names and options of the systems.
        answer_model: The answer model, by the provider's name; None if readers answer.
        template: The prompt.
        model: A language model for the systems' own use.
        judge_model: A chat model, for questions that one grades.
        sample: Questions that are asked, a stratified sample; None for all.
        seed: Decides which; a smaller sample is the beginning of a larger one.
    """

    systems: tuple[str, ...]
    answer_model: str | None
    template: Template
    model: ChatModel | None = None
    judge_model: ChatModel | None = None
    sample: int | None = None
    seed: int = SEED


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A backend that answers later, by file."""

    model: str | None
    stand_in = False

    @property
    def identity(self) -> str:
        """Names the model, if it is known before answers come."""
        return f"batch:{self.model}" if self.model else UNREAD

    def reply(self, request: Request) -> Reply:
        """Cannot be asked at once.

        Raises:
            DataError: Always.
        """
        raise DataError(f"{self.identity} answers by file; see: scaleqa batch --help")

    def close(self) -> None:
        """Holds nothing."""


def export_batch(
    packages: Sequence[Package],
    settings: BatchSettings,
    embedder: Embedder,
    out: Path,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Retrieves for every question and writes the requests; returns how many.

    Args:
        packages: The threads and questions.
        settings: Systems, model and prompt.
        embedder: For the systems.
        out: The file of requests.
        progress: Called with questions done and in all.

    Raises:
        DataError: The file is there already, or the prompt does not fit the questions.
    """
    if out.exists():
        raise DataError(f"{out} is there already; name a new file, or remove it first")
    check_systems(settings.systems, Tools(embedder=embedder, model=settings.model))
    ranks = sample_ranks(packages, settings.sample, settings.seed)
    total = len(settings.systems) * len(ranks)
    rows: list[Exported] = []
    requests: dict[tuple[int, str], dict[str, Any]] = {}
    for system in settings.systems:
        for package in packages:
            for row, request in _ask_all(package, system, settings, embedder, {*ranks}):
                body = answer_body(settings.answer_model or "", request)
                if not settings.answer_model:
                    del body["model"]
                key, rank = _key(row, body), ranks[row.id]
                requests[rank, key] = request_line(key, body)
                rows.append(
                    Exported(custom_id=key, row=row, rank=rank, matter=_matter(package, row))
                )
                if progress:
                    progress(len(rows), total)
    write_whole(rows_beside(out), to_lines(one.stored() for one in rows))
    # By rank, so that a part from the beginning is a sample; by key, which tells nothing.
    write_whole(
        out, to_lines(request for _, request in sorted(requests.items(), key=lambda one: one[0]))
    )
    return total


def sample_ranks(
    packages: Sequence[Package], count: int | None, seed: int = SEED
) -> dict[str, int]:
    """Ranks questions as a stratified sample takes them.

    Args:
        packages: The threads and questions.
        count: How many are taken; None for all.
        seed: Decides between questions of a kind.

    Raises:
        DataError: There are fewer questions.
    """
    questions = [question for package in packages for question in package.questions]
    if count is not None and not 1 <= count <= len(questions):
        raise DataError(f"a sample of {count} was asked for; there are {len(questions)} questions")
    ordered = in_sample_order(questions, seed)[:count]
    return {question.id: rank for rank, question in enumerate(ordered)}


def _ask_all(
    package: Package, system: str, settings: BatchSettings, embedder: Embedder, wanted: set[str]
) -> Iterator[tuple[Row, Request]]:
    reading = Reading(
        backend=Provider(model=settings.answer_model),
        template=settings.template,
        writeback=False,
        judge_model=settings.judge_model,
    )
    if not any(question.id in wanted for question in package.questions):
        return
    grading = Grading(reading, package, embedder)
    asking = RunSettings(system=system, reading=reading, model=settings.model)
    run = run_of(package, asking, embedder, grading)
    with fed_system(package, run, embedder, model=settings.model) as fed:
        for place, question in enumerate(package.questions):
            if question.id in wanted:
                row, found = fed.ask(place, detail=True)
                yield row, grading.request(question, found)


def _matter(package: Package, row: Row) -> tuple[str, ...]:
    """Returns what was said in the dialogues that hold evidence: any of it may tell the answer."""
    gold = {*row.evidence}
    told = {turn for block in package.dialogues if gold & {*block} for turn in block} | gold
    return tuple(package.stream[turn].text for turn in sorted(told))


def _key(row: Row, body: dict[str, Any]) -> str:
    """Returns a hash of what was asked, so that answers to another prompt do not fit.

    What rows say besides is left out: answers that are kept must fit when rows say more one day.
    """
    run = row.run
    said = [body["messages"], body.get("model")]
    asked = [run.system, run.embedder, run.package_sha256, row.id, *said]
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:24]
