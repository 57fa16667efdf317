"""The records of SCALE-QA: schema, validation, and the 3,000 that ship with the package."""

from scaleqa.records.load import load_records, load_sequels, shipped, shipped_sequels
from scaleqa.records.schema import DOMAINS, LETTERS, SPLITS, Record, Sequel

__all__ = [
    "DOMAINS",
    "LETTERS",
    "SPLITS",
    "Record",
    "Sequel",
    "load_records",
    "load_sequels",
    "shipped",
    "shipped_sequels",
]
