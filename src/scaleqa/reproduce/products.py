"""Products that people use, beside our method and controls, at the same number of tokens."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from scaleqa import products as known
from scaleqa.errors import DataError
from scaleqa.pages.drawings import Bar, bars
from scaleqa.pages.forms import count, fine, tenths
from scaleqa.pages.page import Notes, Page, Paragraph, Section
from scaleqa.pages.table import Column, Table, listing
from scaleqa.products import Product
from scaleqa.report.palette import base_colour
from scaleqa.reproduce.costs import Cost, cost_of
from scaleqa.reproduce.lab import Lab
from scaleqa.reproduce.reproduction import INTERVAL, SYSTEM, Reproduction, described, notes, page
from scaleqa.reproduce.results import detail, overview
from scaleqa.reproduce.splits import HELD_OUT, SPLITS, of_split
from scaleqa.reproduce.tracks import (
    ANSWERS,
    ASIDES,
    ASSISTANT,
    BRAIDED,
    FRIENDS,
    OTHER_WORDS,
    RESUMED,
    WRITTEN,
    Measured,
    available,
    measure,
    orders,
    together,
)
from scaleqa.specs import Spec
from scaleqa.systems import find_system
from tsim import environment

# Of a subset, too, every question is asked in both wordings.
OWN = replace(WRITTEN, worded=True)
OTHER = replace(OTHER_WORDS, worded=True)
COMPARED = ((OWN, OTHER), (ASIDES,), (BRAIDED,), (RESUMED,), (FRIENDS,), (ASSISTANT,), (ANSWERS,))
# Bars of more tracks in one drawing could not be told apart.
DRAWN = 2
OURS = "tsim"
HOW = (
    "Every product is given the turns in order, and is asked for the best 100 of what "
    "it keeps; the benchmark puts them into the context, best first, as far as they fit into the "
    "budget. `window=6`: it is given windows of six turns instead. All of them use the vectors of "
    "the benchmark, so that they differ in what they do with them."
)
UNIT = (
    "Two controls tell the unit that is found from the product that finds it: the same product at "
    "`window=6` (windows that do not overlap, cut without regard to what is said), and "
    "bm25_chunks, which is BM25 over chunks of whole turns and no product."
)

MODELS = (
    "Above, no product uses a language model. With one (`--assist`), mem0 extracts memories "
    "(`mem0:mode=memories`, `mode=sources`) and Graphiti facts (`graphiti`); docs/systems.md "
    "says how their results are judged. `scaleqa products install NAME` installs what is "
    "missing here. Both have run with Qwen2.5-Coder-1.5B (`--assist "
    "gguf:qwen2.5-coder-1.5b,context=12288,reuse=true,threads=1`; Graphiti: `context=6144`) on "
    "one dialogue with its question (`s2:Social-Personal-137`) at 100 tokens, with nice 10 on "
    "two busy cores. **This shows that they run, not how good they are:** a small local model "
    "stands in for those that they are made for, one question is no measurement, and the "
    "context holds most of the thread. All replies that ended were JSON of the form that was "
    "asked for. mem0, 7 turns (146 tokens): 7 calls, 57,347 tokens read and 909 written; 23 "
    "memories, of which 6 differ. Their sources hold the evidence, as do the turns that mem0 "
    "finds without a model (`tsim` leaves it out at this length); the memories lack a part of "
    "it, and the same model as reader answers wrongly. The replies are from the cache: they "
    "were made in a run over two dialogues (14 turns), which was stopped after 28 minutes (17.5 "
    "of CPU) in its ninth reply, which had 706 tokens and no end. Where a later prompt was "
    "looked at, 191 to 293 of its more than 8,000 tokens had to be computed. Graphiti, the "
    "first 3 turns (104 tokens): 14 calls, 15,822 tokens read and 1,112 written, 13.5 minutes "
    "(9.9 of CPU). It finds two facts, “Jordan lends the shared kiln …” and “Nisha lives in "
    "Fortuny”: both names are from the examples in its prompt. Their sources hold the evidence; "
    "the facts do not, and the reader answers wrongly. SmolLM2-135M does not do: mem0's prompt "
    "(8,635 tokens) exceeds its context, and for Graphiti it repeats one number within its "
    "first reply (stopped after 2,584 tokens)."
)


def compare(lab: Lab, table: Reproduction) -> Page:
    """Installed products on every track, with their costs, settings and what cannot be run."""
    if len(table.targets) > 1:
        raise DataError("products is about one length; name one --target")
    (target,) = table.targets
    wanted = table.systems
    missing = [system for system in wanted if not _ready(system)]
    table = replace(table, systems=tuple(one for one in wanted if one not in missing))
    chosen = [[track for track in group if track.name in table.tracks] for group in COMPARED]
    groups = [some for group in chosen if (some := available(lab.sources, target, *group))]
    if not groups:
        raise DataError(f"the records have no questions for {', '.join(table.tracks)}")
    quick = [system for system in table.systems if system not in _slow_ones(table)]
    systems = {
        track.name: table.systems if OWN in group else quick for group in groups for track in group
    }
    costed = _costed(table)
    lab.expect(sum(len(together(group, systems)) for group in groups) + len(costed))
    lab.ahead(one for group in groups for one in orders(lab, target, group, systems))
    found = [one for group in groups for one in measure(lab, target, group, systems)]
    costs = [cost_of(lab, system, found[0].threads) for system in costed]
    made = page(
        lab,
        table,
        about=(
            table.about,
            HOW,
            UNIT,
            f"In context: the context holds every evidence turn, whole. {SPLITS}",
            described(lab, [one.threads for one in found]),
        ),
        tables=[overview(found, table), *(detail(one, table) for one in found)],
        notes=(
            *_left_out("because it is not installed here", missing),
            *_left_out("by --track", _unasked(table)),
            *_left_out("on all but the first two tracks, where it takes long", _slow_ones(table)),
            *notes(lab, table),
            INTERVAL,
            "Differences are the first system's share less the system's, paired by question of "
            f"{HELD_OUT}; intervals by bootstrap.",
        ),
        drawing=_drawing(found, table),
        used=[one.threads for one in found],
    )
    return replace(made, sections=(*made.sections, _costs(costs), *_about(table)))


def _product(system: str) -> Product | None:
    name = Spec.parse(system).name
    return known.find_product(name) if name in known.product_names() else None


def _ready(system: str) -> bool:
    product = _product(system)
    if product is None:
        return True
    found = known.installed(product, environment.cache_dir())
    return found is not None and found.current


def _left_out(why: str, what: Sequence[str]) -> list[str]:
    return [f"Left out {why}: {', '.join(what)}."] if what else []


def _unasked(table: Reproduction) -> list[str]:
    return [one.name for group in COMPARED for one in group if one.name not in table.tracks]


def _slow_ones(table: Reproduction) -> list[str]:
    """Returns the systems that are left out on most tracks; windows are texts to be embedded."""
    specs = {system: Spec.parse(system) for system in table.systems}
    return [
        system
        for system, spec in specs.items()
        if "window" in spec.options or find_system(spec.name).slow_to_ingest
    ]


def _costed(table: Reproduction) -> list[str]:
    """Our method, and every product once."""
    named = {Spec.parse(system).name: system for system in reversed(table.systems)}
    return [
        system
        for system in table.systems
        if (_product(system) or Spec.parse(system).name == OURS)
        and named[Spec.parse(system).name] == system
    ]


def _costs(costs: Sequence[Cost]) -> Section:
    columns = (
        SYSTEM,
        Column(key="ingest", head="ingest, s per 1,000 turns", form=fine),
        Column(key="search", head="search, p50 ms", form=tenths),
        Column(key="memory", head="RAM, MB", form=count),
        Column(key="disk", head="disk, MB", form=tenths),
        Column(key="install", head="install, MB", form=count),
        Column(key="load", head="load", form=tenths),
    )
    rows = [cost.row for cost in costs]
    turns = costs[0].turns if costs else 0
    return Section(
        title="Costs",
        blocks=(
            Table(columns=columns, rows=tuple(rows)),
            Notes(
                items=(
                    f"Of one thread of {turns:,} turns, without the embedding of texts, "
                    "which all share. Every product runs in a process of its own, as does "
                    f"{OURS} here: times include the pipe, through which vectors come as JSON.",
                    "RAM: the most that its processes held, interpreter and libraries included. "
                    "Disk: what it wrote; products that keep everything in RAM write nothing. "
                    "Install: its environment, interpreter excluded.",
                    f"Load: how many processes wanted one of the {costs[0].cores if costs else 0} "
                    "cores in the minute before. **Where it is above the number of cores, the "
                    "machine was busy: times are longer than alone, and lines with different loads "
                    "do not compare.**",
                )
            ),
        ),
    )


def _about(table: Reproduction) -> tuple[Section, ...]:
    named = {product.name: product for one in table.systems if (product := _product(one))}
    settings = [_settings(product) for product in named.values()]
    others = [
        _settings(product)
        for product in known.products()
        if product.requirements and product.name not in named
    ]
    alone = (
        "Products run with none of the user's environment variables, with a home directory of "
        "their own, and with proxies that lead nowhere, so that what respects proxies reaches "
        "nothing but this machine."
    )
    not_run = [one.model_dump() for one in known.not_run()]
    return (
        Section(
            title="Versions and settings",
            blocks=(
                listing(settings) if settings else Paragraph(text="None."),
                Notes(items=(alone,)),
            ),
        ),
        Section(
            title="Products that are not in these tables",
            blocks=(
                Paragraph(text=MODELS),
                listing(others) if others else Paragraph(text="None."),
            ),
        ),
        Section(
            title="What could not be run",
            blocks=(
                listing(not_run, "product", "version", "why")
                if not_run
                else Paragraph(text="Nothing is known of."),
            ),
        ),
    )


def _settings(product: Product) -> dict[str, Any]:
    return {
        "product": product.title,
        "version": product.version,
        "how it is used": product.settings,
        "reports to its makers": product.telemetry,
    }


def _drawing(found: Sequence[Measured], table: Reproduction) -> str:
    shown = []
    for one in found[:DRAWN]:
        for system in one.rows:
            held = of_split(one.rows[system], HELD_OUT)
            if held:
                low, high = held.in_context.interval
                label = f"{one.track.name} · {system}"
                value = held.in_context.value
                colour = base_colour(system)
                shown.append(Bar(label=label, value=value, low=low, high=high, colour=colour))
    description = f"All evidence in context, split {HELD_OUT}, Wilson intervals."
    return bars(shown, title=table.title, description=description)
