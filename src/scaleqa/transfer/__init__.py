"""Other people's data: does what was built for our threads hold on theirs?"""

from scaleqa.transfer.cuts import Segmented, compare_rules, embedded
from scaleqa.transfer.longmemeval import Chosen, Release, choose, compile_threads, load_release
from scaleqa.transfer.measure import Measured, measure
from scaleqa.transfer.tiage import Chat, Chats, load_chats

__all__ = [
    "Chat",
    "Chats",
    "Chosen",
    "Measured",
    "Release",
    "Segmented",
    "choose",
    "compare_rules",
    "compile_threads",
    "embedded",
    "load_chats",
    "load_release",
    "measure",
]
