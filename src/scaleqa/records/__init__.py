"""The records of SCALE-QA: schema, validation, and the 3,000 that ship with the package."""

from scaleqa.records.load import (
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
from scaleqa.records.schema import (
    DOMAINS,
    LETTERS,
    SPLITS,
    Aside,
    Case,
    Life,
    Record,
    Sequel,
    TalkKind,
    Wording,
)

__all__ = [
    "DOMAINS",
    "LETTERS",
    "SPLITS",
    "Aside",
    "Case",
    "Life",
    "Record",
    "Sequel",
    "TalkKind",
    "Wording",
    "load_asides",
    "load_records",
    "load_sequels",
    "load_talk",
    "load_wordings",
    "shipped",
    "shipped_asides",
    "shipped_sequels",
    "shipped_talk",
    "shipped_wordings",
]
