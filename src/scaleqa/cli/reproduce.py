"""`scaleqa reproduce`: one command per table."""

import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from scaleqa.backends import Access, Limiter, Stop, find_backend, open_backend, open_chat
from scaleqa.cli.arguments import Assist, KeyVariable, PerMinute
from scaleqa.cli.executors import DEFAULT_LEASE, Jobs, Lease, Ray, Share, chosen
from scaleqa.datasets.scaleqa import as_noise
from scaleqa.errors import DataError
from scaleqa.evaluate.rowfile import write_whole
from scaleqa.lengths import parse_target
from scaleqa.noise import load_pool, shipped_pool
from scaleqa.pages.json import to_json
from scaleqa.pages.page import Page
from scaleqa.pages.terminal import print_tables
from scaleqa.records import (
    load_asides,
    load_records,
    load_sequels,
    load_talk,
    load_wordings,
    shipped,
    shipped_asides,
    shipped_sequels,
    shipped_talk,
    shipped_wordings,
)
from scaleqa.reproduce import TABLES, Lab, Reproduction, Sources, reproduce
from scaleqa.reproduce.catalogue import WHOLE
from scaleqa.reproduce.overview import ORDER, REMARKS, overview
from scaleqa.shards import InProcess, Recipe
from scaleqa.specs import Spec, split_specs
from scaleqa.systems import check_turns
from tsim.cli.shell import AsJson, print_json, progress_bar, say, tell
from tsim.credentials import without_credentials

app = typer.Typer(
    no_args_is_help=True,
    help="Reproduce the tables of the paper, next to its own figures. Results in --out are reused, "
    "so an interrupted run continues.\n\nExample: scaleqa reproduce episodes --subset 60",
)
EXTRACTIVE = "extractive"


def make(
    context: typer.Context,
    out: Annotated[
        Path, typer.Option(help="Directory for packages, results, the page and its figure.")
    ] = Path("runs/reproduce"),
    subset: Annotated[
        int | None, typer.Option(min=1, help="Size of a stratified subset of the questions.")
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="Use the records of one split alone, such as s2.")
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(help="Lengths to use instead of the table's, such as 32k,128k."),
    ] = None,
    system: Annotated[
        str | None,
        typer.Option(help="Systems to use instead of the table's, such as tsim,standard_rag."),
    ] = None,
    track: Annotated[
        str | None,
        typer.Option(help="Tracks to use instead of the table's, such as 'as written,asides'."),
    ] = None,
    dataset: Annotated[
        list[str] | None,
        typer.Option(help="A data set of others, such as locomo:file=PATH; may be repeated."),
    ] = None,
    backend: Annotated[
        str | None,
        typer.Option(help="extractive, openai:MODEL, openai:MODEL@BASE_URL or gguf:NAME_OR_PATH."),
    ] = None,
    assist: Assist = None,
    model: Annotated[
        str | None,
        typer.Option(help="Embedding model; the embedders table takes several: A,B."),
    ] = None,
    records: Annotated[
        Path | None,
        typer.Option(help="File or directory of records to use instead of the built-in ones."),
    ] = None,
    noise: Annotated[
        Path | None, typer.Option(help="Noise file to use instead of the built-in pool.")
    ] = None,
    noise_format: Annotated[str, typer.Option(help="Format of the noise file.")] = "authored",
    rows: Annotated[
        Path | None,
        typer.Option(help="Rows with answers, of scaleqa batch import, to lay out (main only)."),
    ] = None,
    rpm: PerMinute = None,
    key_env: KeyVariable = None,
    jobs: Jobs = None,
    share: Share = None,
    ray: Ray = None,
    lease: Lease = DEFAULT_LEASE,
    as_json: AsJson = False,
) -> None:
    """Reproduce one table."""
    table = _on_tracks(TABLES[str(context.info_name)], track)
    given = {
        "subset": subset, "split": split, "target": target, "system": system, "track": track,
        "backend": backend, "assist": assist, "model": model, "records": records,
        "noise": noise, "dataset": dataset, "rows": rows,
    }  # fmt: skip
    table = _wanted(table, target, system, backend, model)
    _check_datasets(table, dataset, target=target, subset=subset, split=split)
    if rows:
        table = _as_answered(table, given)
    access = Access(key_variable=key_env, limiter=Limiter(rpm) if rpm else None)
    answering = open_backend(backend or EXTRACTIVE, access)
    helper = open_chat(assist, access) if assist else None
    recipe = Recipe(assist=assist, backend=backend or EXTRACTIVE, rpm=rpm, key_env=key_env)
    with ExitStack() as stack:
        stack.callback(answering.close)
        if helper:
            stack.callback(helper.close)
        executor = chosen(stack, out, Stop(tell), jobs=jobs, share=share, ray=ray, lease=lease)
        sources = Sources(
            out=out,
            records=load_records(records) if records else shipped(),
            noise=(load_pool(noise, noise_format) if noise else shipped_pool()).dialogues,
            progress=progress_bar,
            backend=answering,
            helper=helper,
            model=None if table.models else model,
            subset=subset,
            sequels=load_sequels(records) if records else shipped_sequels(),
            wordings=load_wordings(records) if records else shipped_wordings(),
            asides=load_asides(records) if records else shipped_asides(),
            talk=load_talk(records) if records else shipped_talk(),
            datasets=dataset or (),
            reserve=[] if noise else [as_noise(record) for record in shipped()],
            recipe=recipe,
            executor=None if isinstance(executor, InProcess) else executor,
            rows=rows,
        )
        lab = Lab(sources.of(split) if split else sources)
        page, files = reproduce(table, lab, _command(table.name, given))
    _show(table, page, files, machine=as_json)


for _name, _table in TABLES.items():
    app.command(
        _name, help=f"{_table.about}\n\nExample: scaleqa reproduce {_name} {_table.example}"
    )(make)


@app.command("overview")
def overview_page(
    pages: Annotated[
        Path,
        typer.Argument(help=f"Directory of pages that were made, and {REMARKS} with our words."),
    ],
    out: Annotated[Path, typer.Option(help="File for the page.")],
    as_json: AsJson = False,
) -> None:
    """Put the paper's tables on one page, each with what we say to it.

    Example: scaleqa reproduce overview docs/paper --out docs/paper.md
    """
    names = [name for name in ORDER if (pages / f"{name}.md").is_file()]
    if not (pages / REMARKS).is_file():
        raise DataError(f"{pages / REMARKS} is missing; write a section ## NAME for each table")
    text = overview(
        {name: (pages / f"{name}.md").read_text("utf-8") for name in names},
        (pages / REMARKS).read_text("utf-8"),
        Path(os.path.relpath(pages, out.parent)).as_posix(),
        f"scaleqa reproduce overview {pages} --out {out}",
    )
    write_whole(out, text.encode())
    if as_json:
        print_json({"path": str(out), "tables": names})
    else:
        say(f"wrote {out} with {', '.join(names)}")


def _wanted(
    table: Reproduction,
    target: str | None,
    system: str | None,
    backend: str | None,
    model: str | None,
) -> Reproduction:
    """Replaces the table's own settings by those of the user."""
    if backend and not table.answers:
        raise DataError(f"{table.name} asks no answer model; leave --backend out")
    if table.name == "main" and not _stand_in(backend or EXTRACTIVE):
        table = replace(table, systems=(*table.systems, WHOLE))
    if target:
        table = replace(table, targets=tuple(parse_target(one) for one in target.split(",")))
    if table.name == "prompts" and len(table.targets) > 1:
        raise DataError("prompts is about one length; name one --target")
    if system:
        table = replace(table, systems=tuple(split_specs(system)))
        if not table.answers:
            check_turns(table.systems)
    if model and table.models:
        table = replace(table, models=tuple(model.split(",")))
    return table


def _on_tracks(table: Reproduction, track: str | None) -> Reproduction:
    """Replaces the table's tracks by those of the user, in the order of the table."""
    if track is None:
        return table
    wanted = [name.strip() for name in track.split(",")]
    for name in wanted:
        if name not in table.choices:
            there = ", ".join(table.choices) or "none to choose from; leave --track out"
            raise DataError(f"{table.name} has no track {name!r}; there are {there}")
    return replace(table, tracks=tuple(name for name in table.choices if name in wanted))


def _as_answered(table: Reproduction, given: Mapping[str, object]) -> Reproduction:
    """Refuses what rows that are there have settled; their systems are shown unless some are named.

    Raises:
        DataError: The table is made from no such rows, or something else was asked for besides.
    """
    if table.name != "main":
        raise DataError(f"{table.name} is not made from rows; --rows is for main")
    settled = [name for name, value in given.items() if value is not None]
    for name in settled:
        if name not in ("rows", "system"):
            raise DataError(f"--rows shows rows as they were made; leave --{name} out")
    return table if given["system"] else replace(table, systems=())


def _check_datasets(
    table: Reproduction,
    given: list[str] | None,
    *,
    target: str | None,
    subset: int | None,
    split: str | None,
) -> None:
    """Checks that data sets are given where they are used, and only there."""
    if given and not table.datasets:
        raise DataError(f"{table.name} is about our own records; leave --dataset out")
    if table.datasets and not given:
        raise DataError(
            f"{table.name} is about data sets of others; name at least one, such as --dataset "
            "locomo:file=locomo10.json (see: scaleqa datasets)"
        )
    if table.datasets and (target or subset or split):
        raise DataError(
            f"{table.name} takes lengths and subsets as options of its data sets, such as "
            "--dataset longmemeval:file=PATH,subset=60; leave --target, --subset and --split out"
        )


def _stand_in(backend: str) -> bool:
    return find_backend(Spec.parse(backend, subject=True).name).stand_in


def _command(name: str, given: Mapping[str, object]) -> str:
    each = [(key, one) for key, value in given.items() if value is not None
            for one in (value if isinstance(value, list) else [value])]  # fmt: skip
    options = [f"--{key} '{value}'" if {*"; "} & {*str(value)} else f"--{key} {value}"
               for key, value in each]  # fmt: skip
    return without_credentials(" ".join(["scaleqa reproduce", name, *options]))


def _show(table: Reproduction, page: Page, files: dict[str, Path], *, machine: bool) -> None:
    if machine:
        named = {name: str(path) for name, path in files.items()}
        print_json({"name": table.name, **to_json(page), "files": named})
        return
    print_tables(*(replace(one, title=one.title or page.title) for one in page.tables))
    say(f"wrote {files['table']}, {files['page']} and {files['figure']}")
