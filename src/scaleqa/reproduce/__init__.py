"""Every table of the paper, one command away: ours beside the paper's."""

from scaleqa.reproduce.catalogue import TABLES, reproduce
from scaleqa.reproduce.lab import Lab, Sources
from scaleqa.reproduce.page import Page, as_json
from scaleqa.reproduce.table import Table

__all__ = ["TABLES", "Lab", "Page", "Sources", "Table", "as_json", "reproduce"]
