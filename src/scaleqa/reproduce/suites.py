"""Suites that others publish: retrieval against their marked evidence, flat and with boundaries."""

from collections.abc import Iterator, Mapping, Sequence

from scaleqa import paper
from scaleqa.evaluate import Row
from scaleqa.figures.retrieval import Retrieval, in_context_by, retrieval
from scaleqa.pages.drawings import Bar, bars
from scaleqa.pages.forms import count, text
from scaleqa.pages.page import Page
from scaleqa.pages.table import Column, Table, interval
from scaleqa.report.palette import base_colour
from scaleqa.report.retrieval import IN_PART, groups_table, in_part
from scaleqa.reproduce.lab import Lab, Threads
from scaleqa.reproduce.reproduction import INTERVAL, SYSTEM, Reproduction, notes, page
from scaleqa.specs import Spec
from scaleqa.systems import Sees, find_system, with_budget

# The paper's adaptation, which is about LongMemEval alone.
ADAPTED = "tsim_official:preset=longmemeval"
# These are run at several budgets, which follow the contexts that others report.
AT_BUDGETS = ("tsim", "packed_turns", "packed_turns:long=0")
BUDGETS = {"longmemeval": (500, 1100, 2400, 4700)}
OTHER_BUDGETS = (500, 1082, 2000, 4000)
# What was known of a suite when its figures were made.
KNOWN = {
    "longmemeval": "LongMemEval is not held out: some constants of an earlier form were compared "
    "on it, and misses were read (methods, what was chosen where).",
    "locomo": "No constant was chosen on LoCoMo, but it was run after each of several designs, "
    "and misses were counted by their distance to what was shown.",
    "locomo_plus": "LoCoMo-Plus had not been run before; samples were read for their format.",
    "realtalk": "Chats 1 to 5 of REALTALK were used to choose how questions that name a speaker "
    "are treated.",
}
WHAT = (
    "In context: every evidence turn is there, whole. In part: some of every evidence turn is, "
    "where that makes a difference. Sessions: every session with evidence is "
    "there, if only in part. Silent: nothing is returned, of questions that the thread does not "
    "answer; all other shares leave these out."
)
FIGURES = (
    SYSTEM,
    Column(key="sees", head="boundaries", form=text),
    Column(key="in_context", head="in context"),
    interval("interval"),
    IN_PART,
    Column(key="sessions", head="sessions"),
    interval("sessions_interval"),
    Column(key="tokens", head="context tokens", form=count),
    Column(key="silent", head="silent"),
    Column(key="auroc", head="AUROC"),
    Column(key="paper", head="paper, BGE-large"),
)
# The lines of the paper's table about LongMemEval.
PRINTED = {
    ADAPTED: "tsim",
    "bm25_chunks": "chunks",
    "standard_rag": "turns",
    "bm25_sessions": "sessions",
}


def suites(lab: Lab, table: Reproduction) -> Page:
    """Measures systems on data sets of others, each as published."""
    sets = {spec: lab.dataset(spec) for spec in lab.sources.datasets}
    groups = same_threads(list(sets.values()))
    planned = [
        (group, system) for group in groups for system in systems_for(table, dataset_of(group[0]))
    ]
    lab.expect(len(planned))
    lab.ahead(lab.retrieving(system, *group) for group, system in planned)
    rows: dict[str, dict[str, list[Row]]] = {one.name: {} for one in sets.values()}
    for group, system in planned:
        for one, own in zip(group, lab.retrieve_together(system, group), strict=True):
            rows[one.name][system] = own
    tables, shown = [], []
    for spec, one in sets.items():
        found = {system: retrieval(own) for system, own in rows[one.name].items()}
        tables += [_figures(spec, one, found), _types(spec, rows[one.name])]
        shown += [_bar(one, figures) for figures in found.values()]
    names = list(dict.fromkeys(dataset_of(one) for one in sets.values()))
    return page(
        lab,
        table,
        about=(
            table.about,
            WHAT,
            "Nothing was tuned on these suites for this page: each design is run once, with the "
            "constants and weights of the package. "
            + " ".join(KNOWN[name] for name in names if name in KNOWN),
        ),
        tables=tables,
        notes=(
            *(_described(spec, one) for spec, one in sets.items()),
            *notes(lab, table),
            "Systems with boundaries are controls: they are given the sessions of the thread.",
            INTERVAL,
        ),
        drawing=bars(
            shown,
            title=table.title,
            description="Share of questions with all evidence in the context, by suite and system.",
        ),
        used=list(sets.values()),
    )


def systems_for(table: Reproduction, dataset: str) -> list[str]:
    """Returns the systems of the table as they are run on a data set, with their budgets."""
    return [*dict.fromkeys(_systems(table.systems, dataset))]


def _systems(wanted: Sequence[str], dataset: str) -> Iterator[str]:
    for system in wanted:
        if system in AT_BUDGETS:
            for budget in BUDGETS.get(dataset, OTHER_BUDGETS):
                yield with_budget(system, budget)
        elif system != ADAPTED or dataset == "longmemeval":
            yield system


def dataset_of(threads: Threads) -> str:
    """Returns the name of the data set that threads are of."""
    return str(threads.packages[0].settings["dataset"])


def same_threads(sets: Sequence[Threads]) -> list[list[Threads]]:
    """Groups sets of questions about the same threads, which a system then ingests once.

    Sets that disagree about the evidence of a question are apart: a control that is given the
    evidence could not tell which is meant.
    """
    groups: list[list[Threads]] = []
    for one in sets:
        for group in groups:
            if _streams(one) == _streams(group[0]) and all(_agree(one, other) for other in group):
                group.append(one)
                break
        else:
            groups.append([one])
    return groups


def _streams(threads: Threads) -> Mapping[str, object]:
    return {package.name: package.stream for package in threads.packages}


def _agree(one: Threads, other: Threads) -> bool:
    first, second = (
        {question.id: question.evidence for package in threads.packages for question in
         package.questions} for threads in (one, other)
    )  # fmt: skip
    return all(first[name] == second[name] for name in first.keys() & second.keys())


def _figures(spec: str, threads: Threads, found: Mapping[str, Retrieval]) -> Table:
    beside = paper.LONGMEMEVAL.lines if dataset_of(threads) == "longmemeval" else {}
    rows = []
    for system, one in found.items():
        sees = find_system(Spec.parse(system).name).sees is Sees.BOUNDARIES
        printed = beside.get(PRINTED.get(system, ""))
        rows.append({
            "system": system,
            "sees": "given" if sees else "none",
            "in_context": one.in_context.value,
            "interval": one.in_context.interval,
            "in_part": in_part(one),
            "sessions": one.sessions.value if one.sessions else None,
            "sessions_interval": one.sessions.interval if one.sessions else None,
            "tokens": one.context_tokens,
            "silent": one.silent.value if one.silent else None,
            "auroc": one.relevance.auroc if one.relevance else None,
            "paper": printed.recall if printed else None,
        })  # fmt: skip
    return Table(title=_title(spec, found), columns=FIGURES, rows=tuple(rows)).filled()


def _title(spec: str, found: Mapping[str, Retrieval]) -> str:
    asked = next(iter(found.values())).questions
    return f"{spec}: {asked:,} questions with evidence"


def _types(spec: str, rows: Mapping[str, Sequence[Row]]) -> Table:
    parts = {system: in_context_by(own, lambda row: row.domain) for system, own in rows.items()}
    return groups_table(parts, f"{spec}: all evidence in context by type (number of questions)")


def _bar(threads: Threads, found: Retrieval) -> Bar:
    low, high = found.in_context.interval
    return Bar(
        label=f"{dataset_of(threads)} · {found.system}",
        value=found.in_context.value,
        low=low,
        high=high,
        colour=base_colour(found.system),
    )


def _described(spec: str, threads: Threads) -> str:
    """Says which form of the data was read, and what of it was left out."""
    settings = threads.packages[0].settings
    packages = threads.packages
    tokens = sum(package.stats["tokens"] for package in packages) / len(packages)
    absent = sum(not question.evidence for one in packages for question in one.questions)
    said = (
        f"`{spec}`: {len(packages):,} flat threads of {tokens:,.0f} tokens on average; "
        f"{threads.questions:,} questions, {absent:,} of them about what the thread does not answer"
    )
    if settings.get("form") == "oracle":
        said += "; histories compiled from the oracle form, not the official ones"
    if "left_out" in settings:
        out = settings["left_out"]
        said += (
            f"; left out: {out['abstentions']} questions that are not to be answered, "
            f"{out['unmarked']} without marked evidence"
        )
    if "errors" in settings:
        errors = settings["errors"]
        done = "left out" if errors["mend"] == "drop" else "corrected"
        said += f"; {errors['mended']} questions with listed errors of the key {done}"
    return f"{said}. File: sha256 {settings['records_sha256'][:16]}…"
