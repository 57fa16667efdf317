"""Every table of the paper, one command away: ours beside the paper's."""

from scaleqa.reproduce.catalogue import TABLES, reproduce
from scaleqa.reproduce.lab import Lab, Sources
from scaleqa.reproduce.reproduction import Reproduction

__all__ = ["TABLES", "Lab", "Reproduction", "Sources", "reproduce"]
