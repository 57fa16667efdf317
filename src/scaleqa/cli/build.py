"""`scaleqa build`: write threads with questions to files."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from scaleqa.datasets import open_threads
from scaleqa.datasets.scaleqa import Scaleqa, ScaleqaOptions
from scaleqa.errors import DataError
from scaleqa.packages import write_packages
from scaleqa.pages.table import listing
from scaleqa.pages.terminal import print_tables
from scaleqa.records import TalkKind
from tsim.cli.shell import AsJson, print_json, say

# With more packages than this, only their number is printed.
MOST = 20


def build(
    out: Annotated[Path, typer.Option(help="Directory for the packages.")],
    target: Annotated[
        str, typer.Option(help="Tokens per thread: 0, 16k, 128k, 1M or any number.")
    ] = "128k",
    records: Annotated[
        Path | None,
        typer.Option(help="File or directory of records to use instead of the built-in ones."),
    ] = None,
    split: Annotated[str | None, typer.Option(help="Use only this split.")] = None,
    noise: Annotated[
        Path | None, typer.Option(help="Noise file to use instead of the built-in pool.")
    ] = None,
    noise_format: Annotated[str, typer.Option(help="Format of the noise file.")] = "authored",
    subset: Annotated[
        int | None, typer.Option(min=1, help="Size of a stratified subset of the records.")
    ] = None,
    subset_seed: Annotated[int, typer.Option(help="Seed for the subset.")] = 11,
    noise_seed: Annotated[int, typer.Option(help="Seed for the order of the noise.")] = 13,
    mix_seed: Annotated[int, typer.Option(help="Seed for the order of the thread.")] = 17,
    truth_cap: Annotated[float, typer.Option(help="Largest share of a thread for records.")] = 0.82,
    mix: Annotated[
        Literal["blocks", "braid"], typer.Option(help="Whole dialogues, or interleaved turns.")
    ] = "blocks",
    sequels: Annotated[
        bool, typer.Option("--sequels", help="Add sequels, which change some answers.")
    ] = False,
    wording: Annotated[
        Literal["own", "other"],
        typer.Option(help="Questions as written, or in other words, where there are any."),
    ] = "own",
    asides: Annotated[
        bool, typer.Option("--asides", help="Ask about facts told in passing instead of records.")
    ] = False,
    talk: Annotated[
        TalkKind | None,
        typer.Option(help="Ask about everyday talk instead of records; friends need --target 0."),
    ] = None,
    absent: Annotated[
        bool, typer.Option("--absent", help="Leave out every second dialogue, but ask about it.")
    ] = False,
    absent_seed: Annotated[int, typer.Option(help="Seed for what is left out.")] = 19,
    free: Annotated[
        bool, typer.Option("--free", help="Hide the options, and ask for free answers.")
    ] = False,
    grader: Annotated[
        str | None, typer.Option(help="Another judge of free answers than judge, such as f1.")
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(
            help="Another data set, as name:key=value,key=value, instead of the options above."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Build threads of a target length; the result is deterministic.

    Example: scaleqa build --target 128k --out packages/128k
    """
    given = ScaleqaOptions(
        target=target,
        subset=subset,
        split=split,
        mix=mix,
        sequels=sequels,
        wording=wording,
        asides=asides,
        talk=talk,
        absent=absent,
        free=free,
        grader=grader,
        records=str(records) if records else None,
        noise=str(noise) if noise else None,
        noise_format=noise_format,
        subset_seed=subset_seed,
        noise_seed=noise_seed,
        mix_seed=mix_seed,
        absent_seed=absent_seed,
        truth_cap=truth_cap,
    )
    if dataset and given != ScaleqaOptions():
        raise DataError(
            f"options of our own data set do not apply to {dataset}; write options of a data set "
            "behind its name, as --dataset name:key=value,key=value"
        )
    packages = open_threads(dataset) if dataset else Scaleqa(options=given).threads()
    write_packages(packages, out)
    rows = [{"package": package.name, **package.stats} for package in packages]
    if as_json:
        print_json(rows)
        return
    if len(rows) <= MOST:
        print_tables(listing(rows))
    say(f"Wrote {len(packages)} packages to {out}")
