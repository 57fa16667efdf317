"""Does another prompt save Full Context? Chosen on some questions, frozen, asked on others."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from scaleqa import paper
from scaleqa.errors import DataError
from scaleqa.evaluate import Row
from scaleqa.lengths import length
from scaleqa.packages import BuildSettings, subset
from scaleqa.pages.drawings import Bar, bars
from scaleqa.pages.forms import count, fine, text
from scaleqa.pages.page import Page
from scaleqa.pages.table import Column, Table, interval
from scaleqa.report.palette import base_colour
from scaleqa.reproduce.lab import ANSWER, SEED, Lab, Threads
from scaleqa.reproduce.loops import figures
from scaleqa.reproduce.reproduction import (
    INTERVAL,
    SYSTEM,
    Reproduction,
    answered,
    described,
    notes,
    page,
)

PROMPTS = ("full-vanilla.v1", "full-evidence-first.v1", "full-question-first.v1")
QUESTIONS = 120
# One question of six chooses the prompt.
CHOOSING = 6
COLUMNS = (
    SYSTEM,
    Column(key="prompt", head="prompt", form=text),
    Column(key="questions", head="questions", form=count),
    Column(key="accuracy", head="accuracy"),
    interval("accuracy_interval"),
    Column(key="strict", head="strict"),
    Column(key="unanswered", head="unanswered"),
    Column(key="hit", head="evidence in context"),
    Column(key="prompt_tokens", head="prompt tokens", form=count),
)
MORE = (
    Column(key="seconds", head="seconds", form=fine),
    Column(key="paper_accuracy", head="paper accuracy"),
    Column(key="paper_prompt_tokens", head="paper prompt tokens", form=count),
    Column(key="paper_seconds", head="paper seconds", form=fine),
)


def prompts(lab: Lab, table: Reproduction) -> Page:
    """Chooses a prompt for Full Context and compares it with the plain one and with TSIM.

    Raises:
        DataError: The backend reads no prompt.
    """
    if not answered(lab):
        raise DataError(
            "prompts needs a model that reads them, and the extractive reader does not; name one: "
            "--backend openai:MODEL[@BASE_URL] or gguf:NAME"
        )
    whole, *others = table.systems
    choosing, asked = _parts(lab, table.targets[0])
    lab.expect(len(PROMPTS) + 2 + len(others))
    tried = []
    lab.ahead(lab.looping(whole, choosing, prompt=one, writeback=False) for one in PROMPTS)
    for prompt in PROMPTS:
        rows = lab.loop(whole, choosing, prompt=prompt, writeback=False)
        tried.append({"system": whole, "prompt": prompt, **_told(rows)})
    chosen = max(tried, key=lambda row: row["accuracy"])["prompt"]
    beside = length(table.targets[0]) == length(paper.TARGET)
    final = []
    dict.fromkeys((PROMPTS[0], chosen))
    lab.ahead(
        [
            *(
                lab.looping(whole, asked, prompt=p, writeback=False)
                for p in dict.fromkeys((PROMPTS[0], chosen))
            ),
            *(lab.looping(system, asked, writeback=False) for system in others),
        ]
    )
    for prompt, key in ((PROMPTS[0], PROMPTS[0]), (chosen, "chosen")):
        rows = lab.loop(whole, asked, prompt=prompt, writeback=False)
        name = f"{prompt}, chosen" if key == "chosen" else prompt
        final.append({"system": whole, "prompt": name, **_told(rows), **_paper(key, beside)})
    for system in others:
        rows = lab.loop(system, asked, writeback=False)
        final.append({"system": system, "prompt": ANSWER, **_told(rows), **_paper(system, beside)})
    return page(
        lab,
        table,
        about=(
            table.about,
            f"Three prompts are tried on {choosing.questions} questions without write-back; the "
            "one with the highest accuracy, the earlier of equals, is asked unchanged on "
            f"{asked.questions} others about the same thread. All see the same turns of it.",
            described(lab, [asked]),
        ),
        tables=[
            Table(title="Frozen", columns=(*COLUMNS, *MORE), rows=tuple(final)),
            Table(title="Choosing", columns=COLUMNS, rows=tuple(tried)),
        ],
        notes=(
            *notes(lab, table),
            "Full Context shows the newest turns up to its budget. Seconds are means of retrieving "
            "and answering; what the reply cache held took none.",
            INTERVAL,
        ),
        drawing=_drawn(table, final),
        used=[asked],
    )


def _parts(lab: Lab, target: int) -> tuple[Threads, Threads]:
    """One thread, its questions in two parts, each even in domain, letter and split."""
    total = lab.sources.subset or QUESTIONS
    if total < 2:
        raise DataError(f"a subset of {total} cannot both choose and ask; take 2 or more")
    first = subset(lab.sources.records, max(1, total // CHOOSING), SEED)
    known = {record.id for record in first}
    rest = [record for record in lab.sources.records if record.id not in known]
    second = subset(rest, total - len(first), SEED)
    name = f"{length(target)}-prompts-{total}"
    threads = lab.build(name, [*first, *second], BuildSettings(target=target))
    return (
        _only(threads, "choosing", known),
        _only(threads, "asked", {record.id for record in second}),
    )


def _only(threads: Threads, part: str, ids: set[str]) -> Threads:
    packages = [
        replace(package, questions=tuple(one for one in package.questions if one.id in ids))
        for package in threads.packages
    ]
    kept = tuple(package for package in packages if package.questions)
    return Threads(name=f"{threads.name}-{part}", target=threads.target, packages=kept)


def _told(rows: Sequence[Row]) -> dict[str, Any]:
    times = [row.timing.retrieve_ms + (row.timing.answer_ms or 0.0) for row in rows]
    return {**figures(rows), "seconds": sum(times) / len(times) / 1000}


def _paper(key: str, beside: bool) -> dict[str, Any]:
    line = paper.PROMPTS.lines.get(key) if beside else None
    if line is None:
        return {}
    return {
        "paper_accuracy": line.accuracy,
        "paper_prompt_tokens": line.tokens,
        "paper_seconds": line.seconds,
    }


def _drawn(table: Reproduction, rows: Sequence[dict[str, Any]]) -> str:
    shown = []
    for row in rows:
        low, high = row["accuracy_interval"]
        label = row["prompt"] if row["system"] == rows[0]["system"] else row["system"]
        shown.append(
            Bar(
                label=label.removeprefix("full-"),
                value=row["accuracy"],
                low=low,
                high=high,
                colour=base_colour(row["system"]),
                mark=row.get("paper_accuracy"),
            )
        )
    return bars(
        shown,
        title=table.title,
        description="Accuracy with Wilson intervals.",
        mark_name="the paper's accuracy, GPT-4o-mini",
    )
