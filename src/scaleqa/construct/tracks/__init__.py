"""The tracks that can be constructed."""

from collections.abc import Mapping

from scaleqa.construct.plan import Plan
from scaleqa.construct.tracks.asides import Asides
from scaleqa.construct.tracks.records import DialogueFirst, OptionsFirst
from scaleqa.construct.tracks.sequels import Sequels
from scaleqa.construct.tracks.track import Ask, Product, Step, Track
from scaleqa.construct.tracks.wordings import Wordings
from scaleqa.records.schema import Record

__all__ = ["Ask", "Product", "Step", "Track", "open_track"]


def open_track(plan: Plan, given: Mapping[str, Record]) -> Track:
    """Returns the track of a plan.

    Args:
        plan: The plan.
        given: The records that it starts from, by id.
    """
    match plan.track:
        case "records":
            kind = OptionsFirst if plan.order == "options-first" else DialogueFirst
            return kind(plan=plan, given=given)
        case "asides":
            return Asides(plan=plan, given=given)
        case "wordings":
            return Wordings(plan=plan, given=given)
        case "sequels":
            return Sequels(plan=plan, given=given)
