"""The tracks that pages compare systems on, and how systems are measured on them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from scaleqa.evaluate import Row
from scaleqa.packages import AS_WRITTEN, Mix, Words
from scaleqa.packages.resume import NAMED, UNNAMED
from scaleqa.records import TalkKind
from scaleqa.reproduce.lab import Lab, Sources, Threads
from scaleqa.shards import Order


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """A track, and how its threads are built.

    Attributes:
        name: Its name, as it follows from the settings of its packages.
        mix: How dialogues are mixed.
        sequels: Whether topics resume; only questions about those that do are asked.
        wording: The wording of the questions.
        asides: Whether they are about asides.
        absent: Whether every second dialogue is left out.
        worded: Whether a subset is chosen from records with a second wording first.
        talk: The kind of lives that are asked about, instead of records; None for records.
    """

    name: str
    mix: Mix = "blocks"
    sequels: bool = False
    wording: Words = "own"
    asides: bool = False
    absent: bool = False
    worded: bool = False
    talk: TalkKind | None = None

    def available(self, sources: Sources, target: int) -> bool:
        """Returns whether the sources have what the track asks about, and it fits the length."""
        if self.talk:
            lives = [life for life in sources.talk if life.kind == self.talk]
            room = self._length(target)
            return bool(lives) and (not room or all(life.tokens <= room for life in lives))
        return (
            (bool(sources.sequels) or not self.sequels)
            and (bool(sources.wordings) or self.wording == "own")
            and (bool(sources.asides) or not self.asides)
        )

    def threads(self, lab: Lab, target: int) -> Threads:
        """Builds the threads of a length, or takes those that are there."""
        if self.talk:
            return lab.talk(self.talk, self._length(target))
        built = lab.threads(
            target,
            mix=self.mix,
            sequels=self.sequels,
            wording=self.wording,
            asides=self.asides,
            absent=self.absent,
            worded=self.worded,
        )
        return with_sequel(built) if self.sequels else built

    def _length(self, target: int) -> int:
        """Returns the length of the threads: friends take no filler, whatever the target is."""
        return 0 if self.talk == "friends" else target


WRITTEN = Track(name=AS_WRITTEN)
OTHER_WORDS = Track(name="other words", wording="other")
ASIDES = Track(name="asides", asides=True)
FRIENDS = Track(name="friends", talk="friends")
ASSISTANT = Track(name="assistant talk", talk="assistant")
ANSWERS = Track(name="long answers", talk="answers")
ABSENT = Track(name="absent", absent=True)
OTHER_ABSENT = Track(name="other words, absent", wording="other", absent=True)
BRAIDED = Track(name="braided", mix="braid")
RESUMED = Track(name="resumed", sequels=True)
# Tracks of a group have the same threads, which a system ingests once.
GROUPS = (
    (WRITTEN, OTHER_WORDS),
    (ASIDES,),
    (FRIENDS,),
    (ASSISTANT,),
    (ANSWERS,),
    (ABSENT, OTHER_ABSENT),
    (BRAIDED,),
    (RESUMED,),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Systems on a track.

    Attributes:
        track: The track.
        threads: What was asked.
        rows: The rows of each system.
    """

    track: Track
    threads: Threads
    rows: Mapping[str, Sequence[Row]]


def available(sources: Sources, target: int, *tracks: Track) -> list[Track]:
    """Returns those of the tracks that the sources have questions for, at a length."""
    return [track for track in tracks if track.available(sources, target)]


def measure(
    lab: Lab, target: int, group: Sequence[Track], systems: Mapping[str, Sequence[str]]
) -> list[Measured]:
    """Measures systems on tracks that have the same threads.

    Args:
        lab: Builds, runs and keeps.
        target: The length of the threads; those of friends are as long as their lives.
        group: The tracks.
        systems: The systems for each track, by its name.
    """
    threads = _threads(lab, target, group)
    rows: dict[str, dict[str, Sequence[Row]]] = {track.name: {} for track in group}
    for system in together(group, systems):
        names = _names(system, group, systems)
        found = lab.retrieve_together(system, [threads[name] for name in names])
        for name, own in zip(names, found, strict=True):
            rows[name][system] = own
    return [
        Measured(track=track, threads=threads[track.name], rows=rows[track.name]) for track in group
    ]


def orders(
    lab: Lab, target: int, group: Sequence[Track], systems: Mapping[str, Sequence[str]]
) -> Iterator[Order]:
    """Says what `measure` will run."""
    threads = _threads(lab, target, group)
    for system in together(group, systems):
        asked = [threads[name] for name in _names(system, group, systems)]
        yield lab.retrieving(system, *asked)


def _threads(lab: Lab, target: int, group: Sequence[Track]) -> dict[str, Threads]:
    return {track.name: track.threads(lab, target) for track in group}


def _names(system: str, group: Sequence[Track], systems: Mapping[str, Sequence[str]]) -> list[str]:
    """Names the tracks that a system is run on."""
    return [track.name for track in group if system in systems[track.name]]


def together(group: Sequence[Track], systems: Mapping[str, Sequence[str]]) -> list[str]:
    """Returns the systems that are run for any of the tracks, each once."""
    return [*dict.fromkeys(system for track in group for system in systems[track.name])]


def with_sequel(threads: Threads) -> Threads:
    """Returns the same threads with the questions that have a sequel."""
    packages = (
        replace(
            package,
            questions=tuple(q for q in package.questions if q.stress[-1] in (NAMED, UNNAMED)),
        )
        for package in threads.packages
    )
    return replace(
        threads,
        name=f"{threads.name}-asked",
        packages=tuple(package for package in packages if package.questions),
    )
