"""`scaleqa build`: packages from records and noise."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from scaleqa.lengths import parse_target
from scaleqa.noise import load_pool, shipped_pool
from scaleqa.packages import BuildSettings, subset, write_packages
from scaleqa.packages import build as build_packages
from scaleqa.pages.table import listing
from scaleqa.pages.terminal import print_tables
from scaleqa.records import load_records, load_sequels, shipped, shipped_sequels
from tsim.cli.shell import AsJson, print_json


def build(
    out: Annotated[Path, typer.Option(help="Directory to write the packages to.")],
    target: Annotated[str, typer.Option(help="Tokens: 0, 16k, 128k, 1M or any number.")] = "128k",
    records: Annotated[
        Path | None, typer.Option(help="Records of your own, instead of ours.")
    ] = None,
    split: Annotated[str | None, typer.Option(help="Only this split.")] = None,
    noise: Annotated[Path | None, typer.Option(help="A noise file, instead of our pool.")] = None,
    noise_format: Annotated[str, typer.Option(help="Its format.")] = "authored",
    count: Annotated[
        int | None, typer.Option("--subset", help="A stratified subset of this many records.")
    ] = None,
    subset_seed: Annotated[int, typer.Option(help="Draws the subset.")] = 11,
    noise_seed: Annotated[int, typer.Option(help="Orders the noise.")] = 13,
    mix_seed: Annotated[int, typer.Option(help="Orders the thread.")] = 17,
    truth_cap: Annotated[float, typer.Option(help="Most truth in a batch.")] = 0.82,
    mix: Annotated[
        Literal["blocks", "braid"], typer.Option(help="Whole dialogues, or interleaved turns.")
    ] = "blocks",
    sequels: Annotated[
        bool, typer.Option("--sequels", help="Let some topics resume later and change.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Build threads of a target length, the same bytes every time.

    Example: scaleqa build --target 128k --out packages/128k
    """
    settings = BuildSettings(
        target=parse_target(target),
        truth_cap=truth_cap,
        noise_seed=noise_seed,
        mix_seed=mix_seed,
        mix=mix,
        sequels=sequels,
    )
    chosen = load_records(records) if records else shipped()
    if split:
        chosen = [record for record in chosen if record.split == split]
    if count:
        chosen = subset(chosen, count, subset_seed)
    pool = load_pool(noise, noise_format) if noise else shipped_pool()
    following = (load_sequels(records) if records else shipped_sequels()) if sequels else []
    packages = build_packages(chosen, pool.dialogues, settings, following)
    write_packages(packages, out)
    rows = [{"package": package.name, **package.stats} for package in packages]
    if as_json:
        print_json(rows)
        return
    print_tables(listing(rows))
    print(f"wrote {len(packages)} packages to {out}")
