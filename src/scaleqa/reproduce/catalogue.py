"""The tables, and how one is made."""

from dataclasses import replace
from pathlib import Path

from scaleqa import paper
from scaleqa.packages import AS_WRITTEN
from scaleqa.pages.html import to_html
from scaleqa.pages.markdown import drawing_files, to_markdown
from scaleqa.pages.page import Page, Paragraph
from scaleqa.reproduce import budgets, late, loops, products, resources, results, retrieval
from scaleqa.reproduce.lab import Lab
from scaleqa.reproduce.prompts import prompts
from scaleqa.reproduce.reproduction import Reproduction
from scaleqa.reproduce.stress import stress
from scaleqa.reproduce.suites import ADAPTED, suites
from tsim.embed import KNOWN_MODELS

RIVALS = ("standard_rag", "hybrid_rrf", "tuned_hybrid", "raptor", "memgpt", "hipporag")
WHOLE = f"full_context:budget={paper.VISIBLE}"

COMPARED = tuple(track.name for group in products.COMPARED for track in group)
WORDINGS = (AS_WRITTEN, "other words")

_ALL = (
    Reproduction(
        name="main",
        title="Main comparison",
        about="All systems in the closed loop: are answers right, and was the evidence there?",
        systems=("tsim", "tsim_official", *RIVALS),
        answers=True,
        choices=WORDINGS,
        lay_out=loops.main,
        example="--subset 60 --system tsim,standard_rag",
    ),
    Reproduction(
        name="ablation",
        title="Progressive ablation",
        about="From turns to windows to episodes to the whole method, in the closed loop.",
        systems=("standard_rag", "fixed_window:size=256", "drift_window", "tsim_official", "tsim"),
        answers=True,
        choices=WORDINGS,
        lay_out=loops.ablation,
        example="--subset 60",
    ),
    Reproduction(
        name="episodes",
        title="Episodes against windows",
        about="Do episodes hold the evidence of a question, and hold it together?",
        systems=(
            "perfect_episodes",
            "tsim",
            "tsim_official",
            "fixed_window:size=128",
            "fixed_window:size=256",
            "fixed_window:size=320",
            "standard_rag",
        ),
        choices=WORDINGS,
        lay_out=retrieval.episodes,
        example="--subset 60",
    ),
    Reproduction(
        name="views",
        title="Hit rates of the views",
        about="How often each view of TSIM leads to an episode with evidence.",
        systems=("tsim_official",),
        lay_out=retrieval.views,
        example="--subset 60",
    ),
    Reproduction(
        name="theta",
        title="Sensitivity to θ",
        about="TSIM's recall by the similarity below which it ends an episode.",
        systems=(
            "tsim_official:theta=0.62",
            "tsim_official:theta=0.66",
            "tsim_official",
            "tsim_official:theta=0.74",
            "tsim_official:theta=0.78",
        ),
        targets=(32_000, 64_000, 128_000),
        lay_out=retrieval.theta,
        example="--subset 100 --target 32k",
    ),
    Reproduction(
        name="embedders",
        title="Sensitivity to the embedder",
        about="Recall with each embedding model that is on this machine.",
        systems=("standard_rag", "tsim_official", "tsim"),
        models=tuple(spec.name for spec in KNOWN_MODELS),
        lay_out=retrieval.embedders,
        example="--subset 60 --model all-MiniLM-L6-v2",
    ),
    Reproduction(
        name="scaling",
        title="Recall by length",
        about="What is still found when threads get longer, and in how many tokens.",
        systems=("tsim", "tsim_official", "fixed_window:size=128", "hybrid_rrf", "standard_rag"),
        targets=(0, 16_000, 32_000, 64_000, 128_000, 256_000, 512_000, 1_000_000),
        lay_out=resources.scaling,
        example="--subset 60 --target 0,16k,64k",
    ),
    Reproduction(
        name="cost",
        title="System accounting",
        about="What systems keep, and how long they take to read and to find.",
        systems=("standard_rag", "tsim_official", "tsim", *RIVALS[1:]),
        lay_out=resources.cost,
        example="--subset 20 --target 16k",
    ),
    Reproduction(
        name="stress",
        title="By stress and domain",
        about="CL hit by what makes a question hard, and by domain, in the closed loop.",
        systems=("tsim", "tsim_official", *RIVALS),
        answers=True,
        lay_out=stress,
        example="--subset 60 --system tsim,standard_rag",
    ),
    Reproduction(
        name="late",
        title="Late episodes",
        about="Our own method beside the paper's and its rivals, at the same number of tokens.",
        systems=(
            "tsim",
            "tsim_official",
            "perfect_episodes",
            "packed_turns",
            "tuned_hybrid",
            "fixed_window",
            "hybrid_rrf",
            "standard_rag",
        ),
        targets=(128_000, 512_000),
        lay_out=late.late,
        example="--subset 100 --target 32k",
    ),
    Reproduction(
        name="results",
        title="Results",
        about="All systems on those of eight tracks that the records have (as written, other "
        "words, asides, friends, assistant talk, long answers, braided, resumed): is the evidence "
        "in the context, and in how many tokens?",
        systems=(
            "tsim:budget=500",
            "tsim_official",
            "tuned_hybrid",
            "hipporag",
            "memgpt",
            "raptor",
            "fixed_window",
            "fixed_window:size=256",
            "fixed_window:size=320",
            "hybrid_rrf",
            "standard_rag",
            "drift_window",
            "bm25_chunks",
            "packed_turns:budget=500",
            "packed_turns:budget=500,long=0",
            "perfect_episodes:budget=500",
            "oracle",
        ),
        tracks=results.NAMES,
        choices=results.NAMES,
        lay_out=results.results,
        example="--subset 40 --target 16k --system tsim:budget=500,packed_turns:budget=500",
    ),
    Reproduction(
        name="budgets",
        title="By budget",
        about="Our method beside the nearest turns and perfect cuts, in contexts from 150 to 1,100 "
        "tokens, on those of eight tracks that the records have.",
        systems=("tsim", "packed_turns", "packed_turns:long=0", "perfect_episodes"),
        tracks=results.NAMES,
        choices=results.NAMES,
        lay_out=budgets.budgets,
        example="--subset 40 --target 16k --track 'other words,asides'",
    ),
    Reproduction(
        name="products",
        title="Products",
        about="Memory products that people use, those of them that are installed, beside our "
        "method and controls at 500 tokens: is the evidence in the context?",
        systems=(
            "tsim:budget=500",
            "tsim_official:budget=500",
            "packed_turns:budget=500",
            "bm25_chunks:size=160,k=3",
            "chroma:budget=500",
            "chroma:budget=500,window=6",
            "mem0:budget=500",
            "langchain:budget=500",
            "langchain:budget=500,mode=bm25",
            "langchain:budget=500,mode=bm25,window=6",
            "llamaindex:budget=500",
            "txtai:budget=500",
            "mempalace:budget=500",
            "hindsight:budget=500",
        ),
        tracks=COMPARED,
        choices=COMPARED,
        lay_out=products.compare,
        example="--subset 40 --target 16k --system tsim:budget=500,packed_turns:budget=500",
    ),
    Reproduction(
        name="suites",
        title="Public suites",
        about="Suites that others publish, as flat threads, and with session boundaries as a "
        "control: is the evidence in the context?",
        systems=(
            "tsim",
            "tsim_official",
            ADAPTED,
            "packed_turns",
            "packed_turns:long=0",
            "hybrid_rrf",
            "standard_rag",
            "bm25_chunks",
            "bm25_sessions",
            "perfect_episodes",
        ),
        datasets=True,
        lay_out=suites,
        example="--dataset locomo:file=locomo10.json --system tsim,bm25_sessions",
    ),
    Reproduction(
        name="prompts",
        title="Prompts for Full Context",
        about="Whether the wording of the prompt saves a model that is shown the whole thread.",
        systems=(WHOLE, "tsim_official", "tsim"),
        answers=True,
        lay_out=prompts,
        example="--backend openai:gpt-4o-mini",
    ),
)
TABLES = {table.name: table for table in _ALL}


def reproduce(table: Reproduction, lab: Lab, command: str) -> tuple[Page, dict[str, Path]]:
    """Makes a table and writes it as `NAME.md` with its drawing `NAME.svg`, and as `NAME.html`.

    Args:
        table: The table, with systems, lengths and models as wanted.
        lab: Builds, runs and keeps.
        command: How a user gets the same.

    Returns:
        The page, and where it was written.
    """
    made = table.lay_out(lab, table)
    generated = Paragraph(text=f"This page is generated: `{command}`.")
    page = replace(made, introduction=(generated, *made.introduction))
    out = lab.sources.out
    out.mkdir(parents=True, exist_ok=True)
    name = table.name
    drawings = drawing_files(page, name)
    texts = {f"{name}.md": to_markdown(page, name), f"{name}.html": to_html(page), **drawings}
    for file, text in texts.items():
        (out / file).write_text(text, encoding="utf-8", newline="\n")
    files = {"table": f"{name}.md", "figure": f"{name}.svg", "page": f"{name}.html"}
    return page, {kind: out / file for kind, file in files.items()}
