"""Results that anybody can submit and everybody can recompute, and a page of them."""

from scaleqa.leaderboard.checking import About, Checked, Finding, State, check
from scaleqa.leaderboard.files import (
    Submission,
    find_results,
    read_result,
    read_submission,
    read_verdicts,
    write_receipt,
    write_submission,
)
from scaleqa.leaderboard.making import (
    Claims,
    apart,
    asked_of,
    chosen_rows,
    make_result,
    rebuilt,
    slim,
)
from scaleqa.leaderboard.page import leaderboard_page
from scaleqa.leaderboard.recomputing import recompute
from scaleqa.leaderboard.schema import Receipt, Result, Verdict, json_schema
from scaleqa.leaderboard.standings import Entry

__all__ = [
    "About",
    "Checked",
    "Claims",
    "Entry",
    "Finding",
    "Receipt",
    "Result",
    "State",
    "Submission",
    "Verdict",
    "apart",
    "asked_of",
    "check",
    "chosen_rows",
    "find_results",
    "json_schema",
    "leaderboard_page",
    "make_result",
    "read_result",
    "read_submission",
    "read_verdicts",
    "rebuilt",
    "recompute",
    "slim",
    "write_receipt",
    "write_submission",
]
