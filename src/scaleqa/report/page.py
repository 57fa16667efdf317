"""The report: which figures, in which order, with which words."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from scaleqa.evaluate.rowfile import iterate, row_files, write_whole
from scaleqa.evaluate.rows import Row
from scaleqa.evaluate.verdicts import judged_rows
from scaleqa.figures.breakdown import Cell, by_domain, by_stress, scaling
from scaleqa.figures.comparison import Main, Paired, main_table, paired_table
from scaleqa.figures.costs import Cost, cost_table
from scaleqa.figures.exchanges import Exchanges, exchange_table
from scaleqa.figures.groups import Group, group, setting_of
from scaleqa.figures.retrieval import Retrieval, retrieval
from scaleqa.pages.html import to_html
from scaleqa.pages.page import Page, Paragraph, Section, Variant
from scaleqa.report import further, judging, sections
from scaleqa.report.columns import Blocks
from scaleqa.report.comparison import comparison
from scaleqa.report.details import choose, data
from scaleqa.report.palette import system_colours
from scaleqa.report.summaries import tracks_table
from scaleqa.report.words import finding, label

TITLE = "SCALE-QA report"
NOTHING = "There is nothing to show here for this setting."
DETAILS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """All figures of one setting."""

    group: Group
    main: list[Main]
    paired: list[Paired]
    retrieval: list[Retrieval]
    exchanges: list[Exchanges]
    domains: dict[str, dict[str, Cell]]
    stress: dict[str, dict[str, Cell]]
    costs: list[Cost]


def figures(one: Group) -> Figures:
    """Computes all figures of a setting."""
    return Figures(
        group=one,
        main=main_table(one),
        paired=paired_table(one),
        retrieval=[retrieval(rows) for rows in one.rows.values()],
        exchanges=exchange_table(one),
        domains=by_domain(one),
        stress=by_stress(one),
        costs=cost_table(one),
    )


def figures_json(runs: Path) -> dict[str, Any]:
    """Computes the figures of all settings for programs.

    Where no model answered, nothing is said about answers.

    Raises:
        DataError: There are no rows, or a question has two rows of one system.
    """
    groups = group(judged_rows(runs, detail=False))
    found: dict[str, Any] = _known(
        {
            "settings": [_figures_json(one) for one in groups],
            "scaling": [asdict(one) for one in scaling(groups)],
        }
    )
    return found


def write_report(runs: Path, out: Path, *, details: int = DETAILS) -> str:
    """Writes the page and returns its finding.

    Args:
        runs: A directory of rows.
        out: The file to write.
        details: Most questions whose contexts are shown in full.

    Raises:
        DataError: There are no rows, or a question has two rows of one system.
    """
    groups = group(judged_rows(runs, detail=False))
    chosen = choose(groups, details)
    wanted = set(chosen)
    whole = _whole(runs, lambda row: (setting_of(row), row.id) in wanted)
    found = [figures(one) for one in groups]
    names = [label(one.setting, one.questions) for one in groups]
    payload = {
        **data(groups, whole, chosen),
        "settings": names,
        "answered": [one.setting.answers for one in groups],
    }
    text = to_html(
        report_page(found),
        "report.html",
        settings=names,
        shown=_shown(payload["questions"]),
        data=payload,
    )
    write_whole(out, text.encode())
    return finding(groups[0], found[0].main, found[0].paired)


def report_page(found: Sequence[Figures]) -> Page:
    """Puts the figures of all settings in order."""
    return Page(title=TITLE, sections=tuple(_sections(found)))


def _sections(found: Sequence[Figures]) -> Iterator[Section]:
    palette = system_colours({name for one in found for name in one.group.systems})
    writers: tuple[tuple[str, str, Callable[[Figures], Blocks]], ...] = (
        ("run", "What was run and what it shows",
         lambda f: sections.headline(f.group, f.main, f.paired)),
        ("comparison", "Main comparison", lambda f: comparison(f.group, f.main, palette)),
        ("paired", "Paired differences",
         lambda f: sections.differences(f.group, f.paired, palette)),
        ("audit", "Hit and correctness", lambda f: sections.audit(f.group, f.main, palette)),
        ("judges", "Judges and abstentions", lambda f: judging.judged(f.group, f.main, palette)),
        ("retrieval", "Retrieval and what is kept",
         lambda f: further.retrieved(f.group, f.retrieval, palette)),
        ("exchanges", "Earlier exchanges",
         lambda f: further.exchanges(f.group, f.exchanges, palette)),
        ("domains", "By domain", lambda f: further.breakdown(f.group, "domain", f.domains)),
        ("stress", "By stress", lambda f: further.breakdown(f.group, "stress", f.stress)),
    )  # fmt: skip
    for name, title, write in writers:
        yield from _section(name, title, found, write)
    answered = [one.group for one in found if one.group.setting.answers]
    if len(answered) > 1:
        yield Section(name="tracks", title="All tracks", blocks=(tracks_table(answered),))
    lengths = scaling([one.group for one in found])
    if lengths:
        blocks = further.scaling(lengths, palette)
        yield Section(name="scaling", title="By length", blocks=blocks)
    yield from _section(
        "costs", "Tokens, times, cost", found, lambda f: further.costs(f.group, f.costs, palette)
    )


def _section(
    name: str, title: str, found: Sequence[Figures], write: Callable[[Figures], Blocks]
) -> Iterator[Section]:
    """A section about each setting; none where there is nothing to say about any."""
    written = [write(one) for one in found]
    if len(found) == 1:
        blocks = written[0]
    elif any(written):
        blocks = tuple(
            Variant(
                title=label(one.group.setting, one.group.questions),
                blocks=some or (Paragraph(text=NOTHING),),
            )
            for one, some in zip(found, written, strict=True)
        )
    else:
        blocks = ()
    if blocks:
        yield Section(name=name, title=title, blocks=blocks)


def _figures_json(one: Group) -> dict[str, Any]:
    found = figures(one)
    return {
        "setting": {**asdict(one.setting), "questions": one.questions, "packages": one.packages},
        "finding": finding(one, found.main, found.paired),
        "main": [asdict(line) for line in found.main],
        "paired": [asdict(line) for line in found.paired],
        "retrieval": [line.as_json() for line in found.retrieval],
        "exchanges": [asdict(line) for line in found.exchanges],
        "domains": _cells(found.domains),
        "stress": _cells(found.stress),
        "costs": [asdict(line) for line in found.costs],
        "agreement": [asdict(line) for line in judging.group_agreements(one)],
    }


def _known(figures: Any) -> Any:
    """Leaves out of figures, as JSON, what is not known: there is no accuracy without answers."""
    if isinstance(figures, dict):
        return {name: _known(value) for name, value in figures.items() if value is not None}
    return [_known(one) for one in figures] if isinstance(figures, list) else figures


def _whole(runs: Path, wanted: Callable[[Row], bool]) -> Iterator[Row]:
    """Reads some rows again, with everything."""
    return (row for file in row_files(runs) for row in iterate(file) if wanted(row))


def _shown(questions: Sequence[Mapping[str, Any]]) -> str:
    detailed = sum(bool(one.get("full", {}).get("rows")) for one in questions)
    if not detailed:
        return f"All {len(questions):,} questions are here in brief, without what was retrieved."
    if detailed == len(questions):
        return "All questions are here with everything that was retrieved."
    return (
        f"All {len(questions):,} questions are here; {detailed:,} of them with everything that was "
        "retrieved: those on which systems disagree first, spread evenly, then others."
    )


def _cells(found: dict[str, dict[str, Cell]]) -> dict[str, dict[str, dict[str, Any]]]:
    return {part: {s: asdict(cell) for s, cell in cells.items()} for part, cells in found.items()}
