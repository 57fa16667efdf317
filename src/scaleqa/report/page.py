"""The report: one HTML file that needs nothing but itself."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from html import escape
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from scaleqa.pages.drawings import colours
from scaleqa.report import further, sections, tables
from scaleqa.report.details import choose, data
from scaleqa.report.groups import Group, group, read_light, read_whole, setting_of
from scaleqa.report.html import script_json
from scaleqa.report.words import finding, label

DETAILS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """All figures of one setting."""

    group: Group
    main: list[tables.Main]
    paired: list[tables.Paired]
    exchanges: list[tables.Exchanges]
    domains: dict[str, dict[str, tables.Cell]]
    stress: dict[str, dict[str, tables.Cell]]
    costs: list[tables.Cost]


def figures(one: Group) -> Figures:
    """Computes all figures of a setting."""
    return Figures(
        group=one,
        main=tables.main_table(one),
        paired=tables.paired_table(one),
        exchanges=tables.exchange_table(one),
        domains=tables.by_domain(one),
        stress=tables.by_stress(one),
        costs=tables.cost_table(one),
    )


def figures_json(runs: Path) -> dict[str, Any]:
    """Computes the figures of all settings for programs.

    Raises:
        DataError: There are no rows, or they cannot be told apart.
    """
    groups = group(read_light(runs))
    settings = []
    for one in groups:
        found = figures(one)
        known = {**asdict(one.setting), "questions": one.questions, "packages": one.packages}
        settings.append(
            {
                "setting": known,
                "finding": finding(one, found.main, found.paired),
                "main": [asdict(line) for line in found.main],
                "paired": [asdict(line) for line in found.paired],
                "exchanges": [asdict(line) for line in found.exchanges],
                "domains": _cells(found.domains),
                "stress": _cells(found.stress),
                "costs": [asdict(line) for line in found.costs],
            }
        )
    return {"settings": settings, "scaling": [asdict(one) for one in tables.scaling(groups)]}


def write_report(runs: Path, out: Path, *, details: int = DETAILS) -> str:
    """Writes the page and returns its finding.

    Args:
        runs: A directory of rows.
        out: The file to write.
        details: Most questions whose contexts are shown in full.

    Raises:
        DataError: There are no rows, or they cannot be told apart.
    """
    groups = group(read_light(runs))
    chosen = choose(groups, details)
    wanted = set(chosen)
    whole = read_whole(runs, lambda row: (setting_of(row), row["id"]) in wanted)
    found = [figures(one) for one in groups]
    payload = data(groups, whole, chosen)
    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.with_name(f"{out.name}.part")
    part.write_text(_page(found, payload, len(chosen)), encoding="utf-8", newline="\n")
    part.replace(out)
    return finding(groups[0], found[0].main, found[0].paired)


def _page(found: Sequence[Figures], payload: dict[str, Any], detailed: int) -> str:
    names = [label(one.group.setting, one.group.questions) for one in found]
    parts = list(_parts(found, names))
    place = resources.files("scaleqa.report")
    template = Template((place / "page.html").read_text("utf-8"))
    return template.substitute(
        style=(place / "page.css").read_text("utf-8"),
        script=(place / "page.js").read_text("utf-8"),
        contents="".join(
            f'<li><a href="#{name}">{escape(title)}</a></li>' for name, title, _ in parts
        )
        + '<li><a href="#questions">Questions</a></li>',
        chooser=_chooser(names),
        sections="".join(
            f'<section id="{name}" aria-labelledby="{name}-title"><h2 id="{name}-title">'
            f"{escape(title)}</h2>{body}</section>"
            for name, title, body in parts
        ),
        shown=_shown(detailed, len(payload["questions"])),
        data=script_json({**payload, "settings": names}),
    )


def _parts(found: Sequence[Figures], names: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    palette = colours({name for one in found for name in one.group.systems})

    def each(write: Callable[[Figures], str]) -> str:
        if len(found) == 1:
            return write(found[0])
        return "".join(
            f'<div class="setting" data-setting="{number}"><h3>{escape(name)}</h3>'
            f"{write(one)}</div>"
            for number, (name, one) in enumerate(zip(names, found, strict=True))
        )

    yield (
        "run",
        "What was run and what it shows",
        each(lambda f: sections.headline(f.group, f.main, f.paired)),
    )
    yield (
        "comparison",
        "Main comparison",
        each(lambda f: sections.comparison(f.group, f.main, palette)),
    )
    yield (
        "paired",
        "Paired differences",
        each(lambda f: sections.differences(f.group, f.paired, palette)),
    )
    yield "audit", "Hit and correctness", each(lambda f: sections.audit(f.group, f.main, palette))
    yield (
        "exchanges",
        "Earlier exchanges",
        each(lambda f: further.exchanges(f.group, f.exchanges, palette)),
    )
    yield "domains", "By domain", each(lambda f: further.breakdown(f.group, "domain", f.domains))
    yield "stress", "By stress", each(lambda f: further.breakdown(f.group, "stress", f.stress))
    lengths = tables.scaling([one.group for one in found])
    if lengths:
        yield "scaling", "By length", further.scaling(lengths, palette)
    yield "costs", "Tokens, times, cost", each(lambda f: further.costs(f.group, f.costs, palette))


def _chooser(names: Sequence[str]) -> str:
    if len(names) == 1:
        return ""
    options = "".join(
        f'<option value="{number}">{escape(name)}</option>' for number, name in enumerate(names)
    )
    return f'<label class="chooser">Setting <select id="setting">{options}</select></label>'


def _shown(detailed: int, questions: int) -> str:
    if detailed >= questions:
        return "All questions are here with everything that was retrieved."
    return (
        f"All {questions:,} questions are here; {detailed:,} of them with everything that was "
        "retrieved: those on which systems disagree first, spread evenly, then others."
    )


def _cells(found: dict[str, dict[str, tables.Cell]]) -> dict[str, dict[str, dict[str, Any]]]:
    return {part: {s: asdict(cell) for s, cell in cells.items()} for part, cells in found.items()}
