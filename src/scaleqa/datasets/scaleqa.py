"""SCALE-QA: records among noise as threads of any length, and threads of everyday talk."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from scaleqa.datasets.protocol import DataSetDeclaration
from scaleqa.errors import DataError
from scaleqa.lengths import parse_target
from scaleqa.noise import Dialogue, load_pool, shipped_pool
from scaleqa.packages import (
    BuildSettings,
    Filler,
    Mix,
    Package,
    TalkSettings,
    Words,
    build,
    build_talk,
    freed,
    graded_by,
    subset,
)
from scaleqa.records import (
    THIRD,
    Case,
    Life,
    Record,
    TalkKind,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleqaOptions:
    """Which records and noise are used, and how threads are built."""

    target: Annotated[str, Field(description="Tokens per thread: 0, 16k, 128k, 1M.")] = "128k"
    subset: Annotated[
        int | None, Field(ge=1, description="A stratified subset of this many records.")
    ] = None
    split: Annotated[
        str | None, Field(description="Only this split: s1, s2, or s3, which is in no default.")
    ] = None
    mix: Annotated[Mix, Field(description="Whole dialogues, or interleaved turns.")] = "blocks"
    sequels: Annotated[bool, Field(description="Add sequels, which change some answers.")] = False
    wording: Annotated[
        Words, Field(description="Questions as written, or in other words, where there are any.")
    ] = "own"
    asides: Annotated[
        bool, Field(description="Ask about facts told in passing instead of records.")
    ] = False
    talk: Annotated[
        TalkKind | None,
        Field(description="Ask about everyday talk instead of records; friends need target=0."),
    ] = None
    absent: Annotated[
        bool, Field(description="Leave out every second dialogue, but ask its question.")
    ] = False
    free: Annotated[
        bool, Field(description="Hide the options, and ask for an answer in free text.")
    ] = False
    grader: Annotated[
        str | None, Field(description="Another judge of free answers than judge, such as f1.")
    ] = None
    records: Annotated[str | None, Field(description="A file or directory of records.")] = None
    noise: Annotated[
        str | None, Field(description="A noise file instead of the built-in pool.")
    ] = None
    noise_format: Annotated[str, Field(description="Format of the noise file.")] = "authored"
    subset_seed: Annotated[int, Field(description="Seed for the subset.")] = 11
    noise_seed: Annotated[int, Field(description="Seed for the order of the noise.")] = 13
    mix_seed: Annotated[int, Field(description="Seed for the order of the thread.")] = 17
    absent_seed: Annotated[int, Field(description="Seed for what is left out.")] = 19
    truth_cap: Annotated[
        float, Field(gt=0, le=1, description="Largest share of a thread for records.")
    ] = 0.82


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaleqa:
    """Questions about flat threads: four-way in ten domains, or free-text about everyday talk."""

    options: ScaleqaOptions
    name: str = "scaleqa"

    def threads(self) -> list[Package]:
        """Builds the threads; the result is deterministic.

        Raises:
            DataError: Records or noise cannot be used, or there is too little noise.
        """
        given = self.options
        own = Path(given.records) if given.records else None
        if given.grader and not (given.free or given.talk):
            raise DataError(
                f"grader={given.grader} is for free answers, and these questions have options; add "
                "free=true, or leave it out"
            )
        found = self._talk(given.talk, own) if given.talk else self._built(own)
        return graded_by(freed(found) if given.free else found, given.grader)

    def _built(self, own: Path | None) -> list[Package]:
        """Builds the threads of records or asides."""
        given = self.options
        chosen = self._chosen(own)
        if given.subset:
            chosen = subset(chosen, given.subset, given.subset_seed)
        following = (load_sequels(own) if own else shipped_sequels()) if given.sequels else []
        words = (
            (load_wordings(own) if own else shipped_wordings()) if given.wording == "other" else []
        )
        settings = BuildSettings(
            target=parse_target(given.target),
            truth_cap=given.truth_cap,
            noise_seed=given.noise_seed,
            mix_seed=given.mix_seed,
            mix=given.mix,
            sequels=given.sequels,
            wording=given.wording,
            absent=given.absent,
            absent_seed=given.absent_seed,
        )
        return build(chosen, self._filler(), settings, following, words)

    def _talk(self, kind: TalkKind, own: Path | None) -> list[Package]:
        """Builds the threads of lives of a kind."""
        given = self.options
        _check_talk(given)
        settings = TalkSettings(
            target=parse_target(given.target),
            noise_seed=given.noise_seed,
            mix_seed=given.mix_seed,
        )
        lives: list[Life] = load_talk(own) if own else shipped_talk()
        chosen = [one for one in lives if one.kind == kind and given.split in (None, one.split)]
        if not chosen:
            where = f"talk.jsonl below {own}" if own else "what ships"
            of_split = f" of split {given.split}" if given.split else ""
            raise DataError(f"{where} has no life of kind {kind}{of_split}; choose another")
        return build_talk(chosen, self._filler(), settings)

    def _chosen(self, own: Path | None) -> list[Case]:
        """Returns the records or asides of the split."""
        given = self.options
        found: list[Case] = []
        if given.asides:
            found += load_asides(own) if own else shipped_asides()
            if not found:
                where = f"{own} has no asides.jsonl with asides" if own else "no asides ship yet"
                raise DataError(f"{where}; leave out --asides, or give --records DIRECTORY")
        else:
            found += load_records(own) if own else shipped(_third(given.split))
        return [case for case in found if given.split in (None, case.split)]

    def _filler(self) -> Filler:
        """Returns what fills threads: noise, and then our records where nothing is asked of them.

        Records are taken from the given split only, so that nothing of another split is seen.
        """
        given = self.options
        pool = load_pool(Path(given.noise), given.noise_format) if given.noise else shipped_pool()
        if given.noise or not (given.asides or given.talk):
            return Filler(noise=pool.dialogues)
        records = [r for r in shipped(_third(given.split)) if given.split in (None, r.split)]
        return Filler(noise=pool.dialogues, reserve=[as_noise(record) for record in records])


def _third(split: str | None) -> str | None:
    """Returns the split if it is the one that is used only by name."""
    return split if split == THIRD else None


def _check_talk(given: ScaleqaOptions) -> None:
    """Refuses options that make no sense for talk."""
    clashes = (
        (given.asides, "asides", "a thread asks about asides or about talk"),
        (given.wording != "own", "wording", "questions about talk have one wording"),
        (given.sequels, "sequels", "talk has no sequels"),
        (given.subset is not None, "subset", "the unit of talk is a life with all its questions"),
        (given.mix != "blocks", "mix", "sessions of talk stay whole and in order"),
        (given.absent, "absent", "questions about talk always have evidence"),
        (given.free, "free", "questions about talk have no options to hide"),
    )
    for clash, option, reason in clashes:
        if clash:
            raise DataError(f"talk cannot be combined with {option}: {reason}; leave one out")


def as_noise(record: Record) -> Dialogue:
    """Returns the dialogue of a record, to fill threads that do not ask about it."""
    turns = tuple(turn.content for turn in record.dialogue)
    return Dialogue(id=record.id, genre="record", turns=turns)


DATASET = DataSetDeclaration(
    name="scaleqa",
    summary="3,000 four-way questions in ten domains, in threads of any length, and talk",
    options=ScaleqaOptions,
    make=lambda options: Scaleqa(options=options),
    example="scaleqa:target=16k,subset=80",
)
