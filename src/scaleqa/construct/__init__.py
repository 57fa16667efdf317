"""Construction: from a plan to released records, with a receipt for everything on the way."""

from scaleqa.construct.budget import BudgetError, Gate, Spent, spent
from scaleqa.construct.funnel import Funnel, funnel
from scaleqa.construct.plan import EXAMPLE, Budget, Plan, load_plan
from scaleqa.construct.release import Release, release, write_release
from scaleqa.construct.site import Site, opened, read_site
from scaleqa.construct.work import Crew, carry_out

__all__ = [
    "EXAMPLE",
    "Budget",
    "BudgetError",
    "Crew",
    "Funnel",
    "Gate",
    "Plan",
    "Release",
    "Site",
    "Spent",
    "carry_out",
    "funnel",
    "load_plan",
    "opened",
    "read_site",
    "release",
    "spent",
    "write_release",
]
