"""What the form of an item sends."""

from dataclasses import dataclass

from pydantic import ValidationError
from starlette.datastructures import QueryParams

from scaleqa.audit.items import CUES, SCALES
from scaleqa.audit.judgements import Values
from scaleqa.desk import ID
from scaleqa.errors import DataError


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A form as it was sent."""

    id: str
    base: str
    values: Values
    seconds: float | None


def read_form(form: QueryParams) -> Sent:
    """Reads a form.

    Raises:
        DataError: It holds what a page of ours does not send.
    """
    given = {
        "scales": {scale: form[scale] for scale in SCALES if form.get(scale)},
        "answer": form.get("answer") or None,
        "cues": tuple(cue for cue in CUES if cue in form.getlist("cues")),
        "primary": form.get("primary") or None,
        "comment": form.get("comment", "").replace("\r\n", "\n"),
    }
    name, base = form.get("form", ""), form.get("base", "")
    try:
        if not ID.fullmatch(name) or not (base == "" or ID.fullmatch(base)):
            raise ValueError("the form has no id")
        values = Values.model_validate(given)
    except ValueError as error:
        problem = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        raise DataError(
            f"this form cannot be read ({problem}); load the page again, and send it from there"
        ) from None
    return Sent(id=name, base=base, values=values, seconds=_seconds(form.get("seconds", "")))


def _seconds(text: str) -> float | None:
    return float(text) if text.isascii() and text.isdigit() and len(text) < 9 else None
