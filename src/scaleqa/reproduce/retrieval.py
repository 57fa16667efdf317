"""Tables without an answer model: what comes back, from where, and on what it depends."""

from collections.abc import Mapping, Sequence
from typing import Any

from scaleqa import paper
from scaleqa.errors import DataError
from scaleqa.evaluate import Row
from scaleqa.figures.retrieval import Retrieval, against, retrieval
from scaleqa.lengths import length
from scaleqa.pages.drawings import Bar, Line, Point, bars, lines
from scaleqa.pages.forms import count, signed, text
from scaleqa.pages.page import Page
from scaleqa.pages.table import Column, Table, interval
from scaleqa.report.palette import base_colour
from scaleqa.reproduce.lab import Lab, Threads
from scaleqa.reproduce.reproduction import (
    INTERVAL,
    LENGTH,
    SYSTEM,
    Reproduction,
    combinations,
    described,
    label_of,
    lengths,
    notes,
    page,
    place_of,
)
from scaleqa.specs import Spec
from tsim import environment, weights
from tsim.embed import KNOWN_MODELS

RECALL = (
    Column(key="recall_at_5", head="recall@5"),
    interval("recall_interval"),
)
PAPER_RECALL = Column(key="paper_recall", head="paper recall@5")
CONTEXT = Column(key="in_context", head="in context")
TOKENS = Column(key="context_tokens", head="context tokens", form=count)
WHAT = (
    "All-evidence recall@5: the best five units together hold every evidence turn. In context: the "
    "whole context does."
)


def episodes(lab: Lab, table: Reproduction) -> Page:
    """How well units of each kind hold the evidence, together and each."""
    identity = lab.embedder().identity
    rows, shown, used = [], [], []
    for threads, system in combinations(lab, table):
        found = retrieval(lab.retrieve(system, threads))
        beside = _beside(system, identity, threads.printed)
        rows.append({**recall_row(threads, found), **_together(found), **beside})
        shown.append(_bar(threads, found, table, beside.get("paper_recall")))
        used.append(threads)
    columns = (
        SYSTEM, *lengths(table), *RECALL, CONTEXT,
        Column(key="together", head="co-containment"),
        interval("together_interval"),
        Column(key="together_questions", head="of questions", form=count),
        TOKENS,
        Column(key="paper_recall_large", head="paper recall@5, BGE-large"),
        Column(key="paper_recall_small", head="MiniLM"),
        Column(key="paper_together", head="paper co-containment"),
    )  # fmt: skip
    return page(
        lab,
        table,
        about=(
            table.about,
            f"{WHAT} Co-containment: one unit holds all, on questions with several evidence turns.",
            described(lab, used),
        ),
        tables=[Table(columns=columns, rows=tuple(rows))],
        notes=(
            *notes(lab, table),
            "perfect_episodes is no memory: it is given the boundaries of every dialogue. It "
            "bounds what better cuts can give to a search by one vector per episode; a method that "
            "searches otherwise may do better.",
            INTERVAL,
        ),
        drawing=_recall_bars(table, shown),
        used=used,
    )


def views(lab: Lab, table: Reproduction) -> Page:
    """Which views lead to an episode with evidence."""
    rows, shown, used = [], [], []
    for threads, system in combinations(lab, table):
        found = retrieval(lab.retrieve(system, threads))
        if not found.views:
            raise DataError(f"{system} has no views to measure; tsim_official has three")
        for view, share in found.views.items():
            mark = paper.view(system, view) if threads.target == paper.TARGET else None
            rows.append({
                "length": length(threads.target), "system": system, "view": view,
                "hit_rate": share.value, "interval": share.interval, "paper": mark,
            })  # fmt: skip
            low, high = share.interval
            label = label_of(threads, table, view)
            shown.append(Bar(label=label, value=share.value, low=low, high=high, mark=mark))
        used.append(threads)
    columns = (
        SYSTEM, *lengths(table), Column(key="view", head="view", form=text),
        Column(key="hit_rate", head="hit rate"), interval("interval"),
        Column(key="paper", head="paper, BGE-large"),
    )  # fmt: skip
    return page(
        lab,
        table,
        about=(
            table.about,
            "A view hits if something it returns at its depth (28 turns, 20 summaries, 2 clusters) "
            "leads to an episode that holds an evidence turn.",
            described(lab, used),
        ),
        tables=[Table(columns=columns, rows=tuple(rows))],
        notes=(*notes(lab, table), INTERVAL),
        drawing=bars(
            shown,
            title=table.title,
            description="Share of questions for which each view leads to evidence.",
            mark_name="the paper's, with BGE-large",
        ),
        used=used,
    )


def theta(lab: Lab, table: Reproduction) -> Page:
    """Recall by the similarity below which an episode is cut."""
    rows, gaps, drawn, used = [], [], [], []
    found: dict[tuple[int, float], list[Row]] = {}
    for threads, system in combinations(lab, table):
        one = lab.retrieve(system, threads)
        found[threads.target, _theta(system)] = one
        rows.append({**recall_row(threads, retrieval(one)), "theta": _theta(system)})
        used.append(threads)
    for number, target in enumerate(table.targets):
        here = {key: one for (at, key), one in found.items() if at == target}
        points = tuple(
            Point(x=key, y=share.value, low=share.interval.low, high=share.interval.high)
            for key, share in ((key, retrieval(one).recalled) for key, one in sorted(here.items()))
        )
        colour = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00")[number % 5]
        drawn.append(Line(label=length(target), points=points, colour=colour))
        if 0.66 in here and 0.70 in here:
            gaps.append(_gap(target, here[0.66], here[0.70]))
    columns = (LENGTH, Column(key="theta", head="θ", form=lambda v: f"{v:.2f}"), *RECALL, TOKENS)
    difference = (
        LENGTH,
        Column(key="difference", head="recall@5, θ .66 less .70", form=signed),
        interval("interval", head="95 % (paired bootstrap)"),
        interval("paper_interval", head="paper 95 %, 600 questions"),
    )
    tables = [Table(columns=columns, rows=tuple(rows))]
    if gaps:
        title = "Around the paper's setting"
        tables.append(Table(title=title, columns=difference, rows=tuple(gaps)))
    ticks = sorted({key for _, key in found})
    return page(
        lab,
        table,
        about=(
            table.about,
            "The paper's own figure gives no numbers but the intervals below.",
            described(lab, used),
        ),
        tables=tables,
        notes=(*notes(lab, table), INTERVAL),
        drawing=lines(
            drawn,
            title=table.title,
            description="All-evidence recall@5 by theta, one line per length, Wilson intervals.",
            x_label="θ",
            ticks=[(key, f"{key:.2f}") for key in ticks],
        ),
        used=used,
    )


def embedders(lab: Lab, table: Reproduction) -> Page:
    """Recall by embedding model, of those that are here."""
    models, absent = _available(table.models)
    lab.expect(len(models) * len(table.systems) * len(table.targets))
    rows, shown, used = [], [], []
    lab.ahead(
        lab.retrieving(system, lab.threads(target), model=model)
        for target in table.targets
        for model in models
        for system in table.systems
    )
    for target in table.targets:
        threads = lab.threads(target)
        used.append(threads)
        for model in models:
            identity = lab.embedder(model).identity
            for system in table.systems:
                found = retrieval(lab.retrieve(system, threads, model=model))
                mark = paper.recall(system, identity, target)
                name = identity.partition("@")[0]
                rows.append({**recall_row(threads, found), "embedder": name, "paper_recall": mark})
                shown.append(_bar(threads, found, table, mark, name))
    columns = (
        SYSTEM, *lengths(table), Column(key="embedder", head="embedder", form=text), *RECALL,
        CONTEXT, TOKENS, PAPER_RECALL,
    )  # fmt: skip
    return page(
        lab,
        table,
        about=(table.about, WHAT, described(lab, used)),
        tables=[Table(columns=columns, rows=tuple(rows))],
        notes=(
            *(f"Not here, so not measured: {name}. To fetch it: `{how}`." for name, how in absent),
            *notes(lab, table, embedder=False),
            INTERVAL,
        ),
        drawing=_recall_bars(table, shown),
        used=used,
    )


def recall_row(threads: Threads, found: Retrieval) -> dict[str, Any]:
    """Returns recall by column."""
    return {
        **place_of(threads),
        "system": found.system,
        "questions": found.questions,
        "recall_at_5": found.recalled.value,
        "recall_interval": found.recalled.interval,
        "in_context": found.in_context.value,
        "context_tokens": found.context_tokens,
    }


def _together(found: Retrieval) -> dict[str, Any]:
    if found.together is None:
        return {"together_questions": 0}
    return {
        "together": found.together.value,
        "together_interval": found.together.interval,
        "together_questions": found.together.questions,
    }


def _beside(system: str, identity: str, target: int | None) -> dict[str, Any]:
    return {
        "paper_recall": paper.recall(system, identity, target),
        "paper_recall_large": paper.recall(system, paper.LARGE, target),
        "paper_recall_small": paper.recall(system, paper.SMALL, target),
        "paper_together": paper.together(system, target),
    }


def _bar(
    threads: Threads, found: Retrieval, table: Reproduction, mark: float | None, model: str = ""
) -> Bar:
    low, high = found.recalled.interval
    what = found.system.replace("size=", "")
    return Bar(
        label=label_of(threads, table, f"{what} · {model}" if model else what),
        value=found.recalled.value,
        low=low,
        high=high,
        colour=base_colour(found.system),
        mark=mark,
    )


def _recall_bars(table: Reproduction, shown: Sequence[Bar]) -> str:
    return bars(
        shown,
        title=table.title,
        description="All-evidence recall@5 with Wilson intervals.",
        mark_name="the paper's, where it has one for this embedder",
    )


def _theta(system: str) -> float:
    """Reads theta from a specification; the paper's where it says nothing."""
    return float(Spec.parse(system).options.get("theta", 0.70))


def _gap(target: int, first: Sequence[Row], second: Sequence[Row]) -> Mapping[str, Any]:
    gap = against(first, second, "recalled").difference
    return {
        "length": length(target),
        "difference": gap.difference,
        "interval": gap.interval,
        "paper_interval": paper.THETA_GAP.lines.get(target),
    }


def _available(models: Sequence[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """Parts models into those that can be used, and those that would have to be fetched."""
    cache = environment.cache_dir()
    missing = {
        spec.name: spec.fetch_command
        for spec in KNOWN_MODELS
        if not weights.fetched(cache, spec.parts)
    }
    here = [model for model in models if model not in missing]
    if not here:
        wanted = "; ".join(f"{model}: {missing[model]}" for model in models)
        raise DataError(f"none of the embedding models is here; to fetch them: {wanted}")
    return here, [(model, missing[model]) for model in models if model in missing]
