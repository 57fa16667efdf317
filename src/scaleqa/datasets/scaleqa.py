"""SCALE-QA: records among noise, as threads of any length."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from scaleqa.datasets.protocol import DataSetDeclaration
from scaleqa.lengths import parse_target
from scaleqa.noise import load_pool, shipped_pool
from scaleqa.packages import BuildSettings, Mix, Package, build, subset
from scaleqa.records import load_records, load_sequels, shipped, shipped_sequels


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleqaOptions:
    """Which records and noise are used, and how threads are built."""

    target: Annotated[str, Field(description="Tokens per thread: 0, 16k, 128k, 1M.")] = "128k"
    subset: Annotated[
        int | None, Field(ge=1, description="A stratified subset of this many records.")
    ] = None
    split: Annotated[str | None, Field(description="Only this split.")] = None
    mix: Annotated[Mix, Field(description="Whole dialogues, or interleaved turns.")] = "blocks"
    sequels: Annotated[bool, Field(description="Add sequels, which change some answers.")] = False
    records: Annotated[str | None, Field(description="A file or directory of records.")] = None
    noise: Annotated[
        str | None, Field(description="A noise file instead of the built-in pool.")
    ] = None
    noise_format: Annotated[str, Field(description="Format of the noise file.")] = "authored"
    subset_seed: Annotated[int, Field(description="Seed for the subset.")] = 11
    noise_seed: Annotated[int, Field(description="Seed for the order of the noise.")] = 13
    mix_seed: Annotated[int, Field(description="Seed for the order of the thread.")] = 17
    truth_cap: Annotated[
        float, Field(gt=0, le=1, description="Largest share of a thread for records.")
    ] = 0.82


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaleqa:
    """Four-way questions in ten domains, asked about flat threads."""

    options: ScaleqaOptions
    name: str = "scaleqa"

    def threads(self) -> list[Package]:
        """Builds the threads; the result is deterministic.

        Raises:
            DataError: Records or noise cannot be used, or there is too little noise.
        """
        given = self.options
        own = Path(given.records) if given.records else None
        chosen = load_records(own) if own else shipped()
        if given.split:
            chosen = [record for record in chosen if record.split == given.split]
        if given.subset:
            chosen = subset(chosen, given.subset, given.subset_seed)
        pool = load_pool(Path(given.noise), given.noise_format) if given.noise else shipped_pool()
        following = (load_sequels(own) if own else shipped_sequels()) if given.sequels else []
        settings = BuildSettings(
            target=parse_target(given.target),
            truth_cap=given.truth_cap,
            noise_seed=given.noise_seed,
            mix_seed=given.mix_seed,
            mix=given.mix,
            sequels=given.sequels,
        )
        return build(chosen, pool.dialogues, settings, following)


DATASET = DataSetDeclaration(
    name="scaleqa",
    summary="3,000 four-way questions in ten domains, in threads of any length",
    options=ScaleqaOptions,
    make=lambda options: Scaleqa(options=options),
    example="scaleqa:target=16k,subset=80",
)
