"""The first sections of the page, about scores: figures in, HTML out."""

from collections.abc import Sequence

from scaleqa.pages.drawings import Bar, Stack, bars, dots, stacked
from scaleqa.pages.forms import percent
from scaleqa.report import paper, tables
from scaleqa.report.groups import Group
from scaleqa.report.html import Cell, Cells, definitions, figure, paragraph, table
from scaleqa.report.signs import Signs
from scaleqa.report.words import described, finding, uneven

AUDIT = (
    ("hit_correct", "Hit-C", "#0072b2"),
    ("hit_wrong", "Hit-W", "#8fc1e3"),
    ("miss_correct", "Miss-C", "#e69f00"),
    ("miss_wrong", "Miss-W", "#f3d79b"),
    ("unanswered", "unanswered", "#9aa0a6"),
)
MEASURES = {"correct": "strict accuracy", "hit": "CL hit"}
Colours = dict[str, str]


def headline(group: Group, main: Sequence[tables.Main], pairs: Sequence[tables.Paired]) -> str:
    """Says what was run and what it shows."""
    signs = Signs(group.setting)
    return (
        paragraph(finding(group, main, pairs) + signs.after, "finding")
        + definitions(described(group))
        + "".join(paragraph(f"{note.sign}: {note.long}", "notes") for note in signs.notes)
    )


def comparison(group: Group, main: Sequence[tables.Main], colours: Colours) -> str:
    """Writes the main comparison."""
    signs = Signs(group.setting)
    both = signs.both
    setting = group.setting
    found = {m.system: paper.printed(m.system, setting.backend, setting.target) for m in main}
    block = paper.block_of(setting.backend)
    named = f"paper, {block}" if any(found.values()) else ""
    figures = ""
    for name, attribute in (("CL hit", "hit"), ("Strict accuracy", "strict")):
        figures += figure(
            _score_bars(main, found, colours, attribute, named),
            f"{name} with Wilson's 95 % interval{signs.after}",
        )
    scores = table(
        "Scores",
        [("system", ""), ("questions", ""), ("accuracy", both), ("strict accuracy", both),
         ("unanswered", both), ("CL hit", both), ("rationale similarity", both)],
        [_score_cells(line, found[line.system], colours) for line in main],
    )  # fmt: skip
    spread = table(
        "Contexts and spread",
        [("system", ""), ("context tokens, mean", both), ("median", both), ("p95", both),
         ("max", both), ("domain std, points", both), ("batch range", both)],
        [_spread_cells(line, found[line.system], colours) for line in main],
    )  # fmt: skip
    return (
        paragraph(
            "Accuracy credits an unanswered question with a quarter, as the paper does; strict "
            "accuracy does not. CL hit: all evidence is in the context, along the closed loop. "
            "Rationale similarity: cosine of the given rationale and the gold reasoning."
        )
        + (paragraph(uneven(group)) if uneven(group) else "")
        + f'<div class="figures">{figures}</div>{scores}{spread}'
        + signs.below(_paper_note(group, found))
    )


def differences(group: Group, pairs: Sequence[tables.Paired], colours: Colours) -> str:
    """Writes the paired differences of the first system."""
    if not pairs:
        return paragraph("There is no second system to compare with.")
    signs = Signs(group.setting)
    both = signs.both
    first = pairs[0].first
    figures = "".join(
        figure(
            dots(
                [_difference_bar(pair, measure, colours) for pair in pairs],
                title=f"{first} less each other system, {name}",
                description=f"Right of zero {first} is better. Whiskers: paired bootstrap, 95 %.",
                form=lambda value: f"{100 * value:+.1f}",
            ),
            f"{name}: {first} less the other, in points{signs.after}",
        )
        for measure, name in sorted(MEASURES.items(), reverse=True)
    )
    body: list[Cells] = []
    for pair in pairs:
        for one in sorted(pair.measures, key=lambda m: m.measure, reverse=True):
            low, high = one.difference.interval
            body.append([
                Cell(text=pair.second, colour=colours[pair.second]),
                MEASURES[one.measure],
                f"{pair.questions:,}",
                percent(one.first),
                percent(one.second),
                f"{100 * one.difference.difference:+.1f}",
                f"{100 * low:+.1f} to {100 * high:+.1f}",
                _p(one.mcnemar_p),
            ])  # fmt: skip
    return (
        f'<div class="figures">{figures}</div>'
        + table(
            f"{first} against each other system on the questions both were asked",
            [("other system", ""), ("measure", ""), ("questions", ""), (first, both),
             ("other", both), ("difference, points", both), ("95 % interval", both),
             ("McNemar p", both)],
            body,
        )
        + signs.below("Intervals: paired bootstrap over questions, 10,000 samples. McNemar: exact, "
                      "two-sided. No correction for the number of comparisons")
    )  # fmt: skip


def audit(group: Group, main: Sequence[tables.Main], colours: Colours) -> str:
    """Writes hit by correctness."""
    signs = Signs(group.setting)
    both = signs.both
    shares = {
        line.system: {**line.scores.audit, "unanswered": line.scores.unanswered} for line in main
    }
    chart = stacked(
        [Stack(label=s, parts=tuple(v[key] for key, _, _ in AUDIT)) for s, v in shares.items()],
        [(name, colour) for _, name, colour in AUDIT],
        title="Hit by correctness",
        description="Share of questions, in per cent; C for correct, W for wrong.",
    )
    block = paper.block_of(group.setting.backend)
    theirs = paper.AUDIT[block] if group.setting.target == paper.TARGET else {}
    body: list[Cells] = []
    for name, share in shares.items():
        printed = (
            [*(f"paper {value}" for value in theirs[name]), ""] if name in theirs else [""] * 5
        )
        body.append([
            Cell(text=name, colour=colours[name]),
            *(Cell(text=percent(share[key]), below=small)
              for (key, _, _), small in zip(AUDIT, printed, strict=True)),
        ])  # fmt: skip
    note = [f"Paper: {paper.AUDIT_NAME}, {block}"] if any(n in theirs for n in shares) else []
    return (
        f'<div class="figures">{figure(chart, f"Share of questions, per cent{signs.after}")}'
        "</div>"
        + table("Hit by correctness, of all questions; only answered ones are right or wrong",
                [("system", ""), *((name, both) for _, name, _ in AUDIT)], body)
        + signs.below(*note)
    )  # fmt: skip


def _score_bars(
    main: Sequence[tables.Main],
    found: dict[str, paper.Printed | None],
    colours: Colours,
    attribute: str,
    named: str,
) -> str:
    items = []
    for line in main:
        scores, theirs = line.scores, found[line.system]
        hit = attribute == "hit"
        low, high = scores.hit_interval if hit else scores.strict_interval
        # The paper prints the credited accuracy only, which is another measure.
        mark = theirs.hit / 100 if theirs and hit else None
        value = scores.hit if hit else scores.strict_accuracy
        items.append(Bar(label=line.system, value=value, low=low, high=high,
                         colour=colours[line.system], mark=mark))  # fmt: skip
    name = "CL hit" if attribute == "hit" else "Strict accuracy"
    said = ", ".join(f"{item.label} {percent(item.value)}" for item in items)
    return bars(items, title=f"{name} by system", description=said, mark_name=named)


def _score_cells(line: tables.Main, theirs: paper.Printed | None, colours: Colours) -> Cells:
    scores = line.scores
    similar = scores.rationale_similarity
    rationale = f"paper {theirs.rationale:.3f}" if theirs and theirs.rationale is not None else ""
    return [
        Cell(text=line.system, colour=colours[line.system]),
        f"{scores.questions:,}",
        Cell(text=percent(scores.accuracy), below=f"paper {theirs.accuracy} %" if theirs else ""),
        Cell(text=percent(scores.strict_accuracy), below=_interval(scores.strict_interval)),
        percent(scores.unanswered),
        Cell(
            text=percent(scores.hit),
            below=_interval(scores.hit_interval) + (f"; paper {theirs.hit} %" if theirs else ""),
        ),
        Cell(text="–" if similar is None else f"{similar:.3f}", below=rationale),
    ]


def _spread_cells(line: tables.Main, theirs: paper.Printed | None, colours: Colours) -> Cells:
    span = line.batch_range
    return [
        Cell(text=line.system, colour=colours[line.system]),
        Cell(text=f"{line.context.mean:,.1f}", below=f"paper {theirs.tokens:,}" if theirs else ""),
        f"{line.context.median:,.0f}",
        f"{line.context.p95:,.0f}",
        f"{line.context.most:,.0f}",
        f"{100 * line.domain_std:.2f}",
        "one package" if span is None else f"{percent(span[0])} to {percent(span[1])}",
    ]


def _paper_note(group: Group, found: dict[str, paper.Printed | None]) -> str:
    block = paper.block_of(group.setting.backend)
    names = []
    if any(theirs and system != "full_context" for system, theirs in found.items()):
        names.append(f"{paper.MAIN_NAME}, {block}")
    if found.get("full_context"):
        names.append(paper.FULL_CONTEXT_NAME)
    if not names:
        return (
            "The paper's main table is about threads of 128k; it printed nothing comparable for "
            f"these systems at this length ({group.setting.length})"
        )
    return (
        f"Paper: {'; '.join(names)}. Its records, noise and models are not ours: figures stand "
        "beside each other, not against"
    )


def _difference_bar(pair: tables.Paired, measure: str, colours: Colours) -> Bar:
    one = next(m for m in pair.measures if m.measure == measure)
    low, high = one.difference.interval
    return Bar(label=pair.second, value=one.difference.difference, low=low, high=high,
               colour=colours[pair.second])  # fmt: skip


def _interval(interval: tuple[float, float]) -> str:
    return f"{100 * interval[0]:.1f} to {100 * interval[1]:.1f}"


def _p(value: float) -> str:
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"
