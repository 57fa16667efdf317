"""The main comparison of rows that are there: answered by batch, or by an earlier run."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from scaleqa.errors import DataError
from scaleqa.evaluate.rowfile import all_rows
from scaleqa.figures.breakdown import by_domain
from scaleqa.figures.comparison import Main, main_table, paired_table
from scaleqa.figures.groups import Group, Setting, group
from scaleqa.pages.forms import count, percent, percent_span, text
from scaleqa.pages.page import Facts, Notes, Page, Paragraph, Section
from scaleqa.pages.table import Column, Table
from scaleqa.report import further, sections
from scaleqa.report.comparison import comparison
from scaleqa.report.palette import system_colours
from scaleqa.report.provenance import provenance_of
from scaleqa.report.signs import Signs
from scaleqa.report.words import label
from scaleqa.systems import ordered

OPEN_LOOP = (
    "These answers were not written back, so every question met the thread as it was built. The "
    "paper's runs write back: its figures are beside ours for orientation."
)


def readings(directory: Path, systems: Sequence[str], title: str) -> Page:
    """Lays out rows as the paper does: scores, contexts, hit by correctness, pairs, domains.

    Args:
        directory: Where the rows are, of `scaleqa batch import` or `scaleqa run`.
        systems: Which of them; none for all.
        title: Title of the page.

    Raises:
        DataError: There are no rows of these systems with answers of a model.
    """
    rows = [row for row in all_rows(directory) if not systems or row.run.system in systems]
    groups = [one for one in group(rows) if one.setting.answers]
    if not groups:
        of = f" of {', '.join(systems)}" if systems else ""
        raise DataError(
            f"{directory} holds no rows{of} that a language model answered; name the directory "
            "that was given as --out to: scaleqa batch import"
        )
    found = [main_table(one) for one in groups]
    both = tuple(zip(groups, found, strict=True))
    side = (_side_by_side(both),) if len(groups) > 1 else ()
    return Page(
        title=title,
        introduction=(
            Paragraph(text="Are answers right, and was the evidence there?"),
            *(() if all(one.setting.writeback for one in groups) else (Paragraph(text=OPEN_LOOP),)),
        ),
        sections=(*side, *_sections(both)),
    )


def _side_by_side(both: Sequence[tuple[Group, Sequence[Main]]]) -> Section:
    """All settings in one table; a track, a length or a reader is a part of a setting's name.

    Systems with another embedding model have lines of their own.
    """
    several = len({one.setting.embedder for one, _ in both}) > 1
    settings: dict[tuple[str, Setting], int] = {}
    lines: dict[tuple[str, str], dict[str, Any]] = {}
    for one, main in both:
        place = (_name(one), replace(one.setting, embedder=None))
        number = settings.setdefault(place, len(settings))
        for line in main:
            if answers := line.scores.answers:
                shown = f"{line.system} with {_model(one)}" if several else line.system
                key = (line.system, one.setting.embedder or "")
                lines.setdefault(key, {"system": shown}).update({
                    f"strict {number}": answers.strict_accuracy,
                    f"interval {number}": answers.strict_interval,
                    f"hit {number}": line.scores.hit,
                    f"tokens {number}": line.context.mean,
                })  # fmt: skip
    columns = [Column(key="system", head="system", form=text)]
    for (name, _), number in settings.items():
        columns += [
            Column(key=f"strict {number}", head=f"{name}: strict accuracy", form=percent,
                   below=(Column(key=f"interval {number}", head="95 %", form=percent_span),)),
            Column(key=f"hit {number}", head="CL hit", form=percent, joined=True),
            Column(key=f"tokens {number}", head="tokens", form=count, joined=True),
        ]  # fmt: skip
    order = ordered({system for system, _ in lines})
    rows = tuple(lines[key] for key in sorted(lines, key=lambda key: (order.index(key[0]), key[1])))
    return Section(
        name="settings",
        title="Side by side",
        blocks=(
            Table(columns=tuple(columns), rows=rows),
            Notes(items=("Strict accuracy gives nothing for an unanswered question.",)),
        ),
    )


def _sections(both: Sequence[tuple[Group, Sequence[Main]]]) -> Iterator[Section]:
    palette = system_colours({name for one, _ in both for name in one.systems})
    names = Counter(_name(one) for one, _ in both)
    for one, main in both:
        said = Notes(items=tuple(note.long for note in Signs(one.setting).notes))
        rows = (row for own in one.rows.values() for row in own)
        yield Section(
            title=_name(one) if names[_name(one)] == 1 else f"{_name(one)}, {_model(one)}",
            blocks=(
                *comparison(one, main, palette),
                *sections.audit(one, main, palette),
                *sections.differences(one, paired_table(one), palette),
                *further.breakdown(one, "domain", by_domain(one)),
                said,
                Facts(items=provenance_of(rows).facts),
            ),
        )


def _name(one: Group) -> str:
    """Names a setting; the split tells settings apart that differ in their records only."""
    splits = {row.split for own in one.rows.values() for row in own}
    (split,) = splits if len(splits) == 1 else (None,)
    name = label(one.setting, one.questions)
    return f"{split}, {name}" if split else name


def _model(one: Group) -> str:
    return (one.setting.embedder or "").partition("@")[0]
