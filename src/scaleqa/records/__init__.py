"""The questions of SCALE-QA: their shape, their checks, and the 3,000 that ship."""

from scaleqa.records.load import load_records, shipped
from scaleqa.records.schema import DOMAINS, LETTERS, SPLITS, Record

__all__ = ["DOMAINS", "LETTERS", "SPLITS", "Record", "load_records", "shipped"]
