"""Threads of any length, built deterministically from records and noise."""

from scaleqa.packages.absent import ABSENT
from scaleqa.packages.build import BuildSettings, Mix, Words, build
from scaleqa.packages.check import check_packages
from scaleqa.packages.files import load_packages, write_packages
from scaleqa.packages.fill import Filler
from scaleqa.packages.free import freed, graded_by
from scaleqa.packages.package import Block, Package, Question, StreamTurn
from scaleqa.packages.select import in_sample_order, subset, subset_of_lives
from scaleqa.packages.talk import TalkSettings, build_talk
from scaleqa.packages.track import AS_WRITTEN, track_of

__all__ = [
    "ABSENT",
    "AS_WRITTEN",
    "Block",
    "BuildSettings",
    "Filler",
    "Mix",
    "Package",
    "Question",
    "StreamTurn",
    "TalkSettings",
    "Words",
    "build",
    "build_talk",
    "check_packages",
    "freed",
    "graded_by",
    "in_sample_order",
    "load_packages",
    "subset",
    "subset_of_lives",
    "track_of",
    "write_packages",
]
