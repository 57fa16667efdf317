"""Tables without an answer model: what comes back, from where, and on what it depends."""

from collections.abc import Mapping, Sequence
from typing import Any

from scaleqa.errors import DataError
from scaleqa.evaluate import Diagnosis
from scaleqa.report.svg import Bar, Line, Point, bars, colours, lines
from scaleqa.reproduce import printed
from scaleqa.reproduce.lab import Lab, Threads, length
from scaleqa.reproduce.page import Column, Grid, Page, count, span, text
from scaleqa.reproduce.table import (
    FULL,
    INTERVAL,
    LENGTH,
    SYSTEM,
    Table,
    combinations,
    described,
    label_of,
    lengths,
    notes,
)
from scaleqa.specs import Spec
from scaleqa.stats import paired_bootstrap, wilson
from tsim import environment, weights
from tsim.embed.models import KNOWN

RECALL = (
    Column(key="recall_at_5", head="recall@5"),
    Column(key="recall_interval", head="95 %", form=span),
)
PAPER_RECALL = Column(key="paper_recall", head="paper recall@5")
CONTEXT = Column(key="in_context", head="in context")
TOKENS = Column(key="context_tokens", head="context tokens", form=count)
WHAT = (
    "All-evidence recall@5: the best five units together hold every evidence turn. In context: the "
    "whole context does."
)


def episodes(lab: Lab, table: Table) -> Page:
    """How well units of each kind hold the evidence, together and each."""
    identity = lab.embedder().identity
    rows, shown, used = [], [], []
    for threads, system in combinations(lab, table):
        found = lab.retrieve(system, threads)
        beside = _beside(system, identity, threads.target)
        rows.append({**recall_row(threads, found), **_together(found), **beside})
        shown.append(_bar(threads, found, table, beside.get("paper_recall")))
        used.append(threads)
    columns = (
        *lengths(table), SYSTEM, *RECALL, CONTEXT,
        Column(key="together", head="co-containment"),
        Column(key="together_interval", head="95 %", form=span),
        Column(key="together_questions", head="of questions", form=count),
        TOKENS,
        Column(key="paper_recall_large", head="paper recall@5, BGE-large"),
        Column(key="paper_recall_small", head="MiniLM"),
        Column(key="paper_together", head="paper co-containment"),
    )  # fmt: skip
    return Page(
        title=table.title,
        about=(
            table.about,
            f"{WHAT} Co-containment: one unit holds all, on questions with several evidence turns.",
            described(lab, used),
        ),
        grids=(Grid(columns=columns, rows=tuple(rows)),),
        notes=(
            *notes(lab, table),
            "perfect_episodes is no memory: it is told where every dialogue begins and ends. It "
            "bounds what better cuts can give to a search by one vector an episode; a method that "
            "searches otherwise may do better.",
            INTERVAL,
        ),
        drawing=_recall_bars(table, shown),
    )


def views(lab: Lab, table: Table) -> Page:
    """Which views lead to an episode with evidence."""
    rows, shown, used = [], [], []
    for threads, system in combinations(lab, table):
        found = lab.retrieve(system, threads)
        if not found.view_hit_rates:
            raise DataError(f"{system} has no views; tsim_official has, with its episodes")
        for view in sorted(found.view_hit_rates):
            hits = sum(result.views.get(view, False) for result in found.results)
            interval = wilson(hits, found.questions)
            mark = (
                printed.VIEWS.get(view)
                if threads.target == FULL and system == "tsim_official"
                else None
            )
            rows.append({
                "length": length(threads.target), "system": system, "view": view,
                "hit_rate": hits / found.questions, "interval": interval, "paper": mark,
            })  # fmt: skip
            label = label_of(threads, table, view)
            shown.append(Bar(label=label, value=hits / found.questions, low=interval.low,
                             high=interval.high, mark=mark))  # fmt: skip
        used.append(threads)
    columns = (
        *lengths(table), SYSTEM, Column(key="view", head="view", form=text),
        Column(key="hit_rate", head="hit rate"), Column(key="interval", head="95 %", form=span),
        Column(key="paper", head="paper, BGE-large"),
    )  # fmt: skip
    return Page(
        title=table.title,
        about=(
            table.about,
            "A view hits if something it returns at its depth (28 turns, 20 summaries, 2 clusters) "
            "leads to an episode that holds an evidence turn.",
            described(lab, used),
        ),
        grids=(Grid(columns=columns, rows=tuple(rows)),),
        notes=(*notes(lab, table), INTERVAL),
        drawing=bars(
            shown,
            title=table.title,
            description="Share of questions for which each view leads to evidence.",
            mark_name="the paper's, with BGE-large",
        ),
    )


def theta(lab: Lab, table: Table) -> Page:
    """Recall by the similarity below which an episode is cut."""
    rows, gaps, drawn, used = [], [], [], []
    found: dict[tuple[int, float], Diagnosis] = {}
    for threads, system in combinations(lab, table):
        one = lab.retrieve(system, threads)
        found[threads.target, _theta(system)] = one
        rows.append({**recall_row(threads, one), "theta": _theta(system)})
        used.append(threads)
    for number, target in enumerate(table.targets):
        here = {key: one for (at, key), one in found.items() if at == target}
        points = tuple(
            Point(x=key, y=one.recall_at_5, low=one.recall_interval[0], high=one.recall_interval[1])
            for key, one in sorted(here.items())
        )
        colour = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00")[number % 5]
        drawn.append(Line(label=length(target), points=points, colour=colour))
        if 0.66 in here and 0.70 in here:
            gaps.append(_gap(target, here[0.66], here[0.70]))
    columns = (LENGTH, Column(key="theta", head="θ", form=lambda v: f"{v:.2f}"), *RECALL, TOKENS)
    difference = (
        LENGTH,
        Column(key="difference", head="recall@5, θ .66 less .70", form=lambda v: f"{v:+.3f}"),
        Column(key="interval", head="95 % (paired bootstrap)", form=span),
        Column(key="paper_interval", head="paper 95 %, 600 questions", form=span),
    )
    grids = [Grid(columns=columns, rows=tuple(rows))]
    if gaps:
        grids.append(Grid(title="Around the paper's setting", columns=difference, rows=tuple(gaps)))
    ticks = sorted({key for _, key in found})
    return Page(
        title=table.title,
        about=(
            table.about,
            "The paper's own figure gives no numbers but the intervals below.",
            described(lab, used),
        ),
        grids=tuple(grids),
        notes=(*notes(lab, table), INTERVAL),
        drawing=lines(
            drawn,
            title=table.title,
            description="All-evidence recall@5 by theta, one line a length, Wilson intervals.",
            x_label="θ",
            ticks=[(key, f"{key:.2f}") for key in ticks],
        ),
    )


def embedders(lab: Lab, table: Table) -> Page:
    """Recall by embedding model, of those that are here."""
    models, absent = _available(table.models)
    lab.expect(len(models) * len(table.systems) * len(table.targets))
    rows, shown, used = [], [], []
    for target in table.targets:
        threads = lab.threads(target)
        used.append(threads)
        for model in models:
            identity = lab.embedder(model).identity
            for system in table.systems:
                found = lab.retrieve(system, threads, model=model)
                mark = printed.recall(system, identity, target)
                name = identity.partition("@")[0]
                rows.append({**recall_row(threads, found), "embedder": name, "paper_recall": mark})
                shown.append(_bar(threads, found, table, mark, name))
    columns = (
        *lengths(table), SYSTEM, Column(key="embedder", head="embedder", form=text), *RECALL,
        CONTEXT, TOKENS, PAPER_RECALL,
    )  # fmt: skip
    return Page(
        title=table.title,
        about=(table.about, WHAT, described(lab, used)),
        grids=(Grid(columns=columns, rows=tuple(rows)),),
        notes=(
            *(f"Not here, so not measured: {name}. To fetch it: `{how}`." for name, how in absent),
            *notes(lab, table, embedder=False),
            INTERVAL,
        ),
        drawing=_recall_bars(table, shown),
    )


def recall_row(threads: Threads, found: Diagnosis) -> dict[str, Any]:
    """Tells recall as columns."""
    return {
        "length": length(threads.target),
        "system": found.system,
        "questions": found.questions,
        "recall_at_5": found.recall_at_5,
        "recall_interval": found.recall_interval,
        "in_context": found.recall_in_context,
        "context_tokens": found.context_tokens,
    }


def _together(found: Diagnosis) -> dict[str, Any]:
    several = [result.together for result in found.results if result.together is not None]
    if not several:
        return {"together_questions": 0}
    return {
        "together": sum(several) / len(several),
        "together_interval": wilson(sum(several), len(several)),
        "together_questions": len(several),
    }


def _beside(system: str, identity: str, target: int) -> dict[str, Any]:
    if target != FULL:
        return {}
    return {
        "paper_recall": printed.recall(system, identity, target),
        "paper_recall_large": printed.RECALL[printed.LARGE].get(system),
        "paper_recall_small": printed.RECALL[printed.SMALL].get(system),
        "paper_together": printed.TOGETHER.get(system),
    }


def _bar(
    threads: Threads, found: Diagnosis, table: Table, mark: float | None, model: str = ""
) -> Bar:
    name = Spec.parse(found.system).name
    low, high = found.recall_interval
    what = found.system.replace("size=", "")
    return Bar(
        label=label_of(threads, table, f"{what} · {model}" if model else what),
        value=found.recall_at_5,
        low=low,
        high=high,
        colour=colours([name])[name],
        mark=mark,
    )


def _recall_bars(table: Table, shown: Sequence[Bar]) -> str:
    return bars(
        shown,
        title=table.title,
        description="All-evidence recall@5 with Wilson intervals.",
        mark_name="the paper's, where it has one for this embedder",
    )


def _theta(system: str) -> float:
    """Reads theta from a specification; the paper's where it says nothing."""
    return float(Spec.parse(system).options.get("theta", 0.70))


def _gap(target: int, first: Diagnosis, second: Diagnosis) -> Mapping[str, Any]:
    gap = paired_bootstrap(
        [result.recalled for result in first.results],
        [result.recalled for result in second.results],
        seed=0,
    )
    return {
        "length": length(target),
        "difference": gap.difference,
        "interval": gap.interval,
        "paper_interval": printed.THETA_GAP.get(target),
    }


def _available(models: Sequence[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """Parts models into those that can be used, and those that would have to be fetched."""
    cache = environment.cache_dir()
    missing = {
        spec.name: spec.fetch_command
        for spec in KNOWN
        if not weights.model_dir(cache, spec).is_dir()
    }
    here = [model for model in models if model not in missing]
    if not here:
        wanted = "; ".join(f"{model}: {missing[model]}" for model in models)
        raise DataError(f"none of the embedding models is here; to fetch them: {wanted}")
    return here, [(model, missing[model]) for model in models if model in missing]
