"""Labels of people or blind readers: who they found right, one JSON object per line."""

from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from scaleqa.backends.batchfile import text_lines
from scaleqa.errors import DataError
from scaleqa.evaluate.rows import Row


class Label(BaseModel):
    """A line: whether the answer of a system to a question is right."""

    model_config = ConfigDict(frozen=True, strict=True)

    id: str
    """Id of the question."""
    system: str
    correct: bool
    package: str | None = None
    """Needed only where two packages ask a question with the same id."""


def read_labels(path: Path, rows: Sequence[Row]) -> dict[tuple[str, str, str], bool]:
    """Reads labels, by system, package and question; other fields of a line are left alone.

    Args:
        path: The file.
        rows: The answers that the labels are about.

    Raises:
        DataError: A line is no label, is about no answer or about several, or is a second one.
    """
    places: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        places.setdefault((row.run.system, row.id), []).append(row.run.package)
    found: dict[tuple[str, str, str], bool] = {}
    for number, line in enumerate(text_lines(path), 1):
        where = f"{path}, line {number}"
        try:
            one = Label.model_validate_json(line)
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            field = ".".join(map(str, problem["loc"])) or "the line"
            raise DataError(
                f"{where} is no label ({field}: {problem['msg']}); expected an object with id, "
                "system and correct (true or false)"
            ) from None
        known = places.get((one.system, one.id), [])
        packages = [name for name in known if one.package in (None, name)]
        if len({*packages}) != 1:
            several = "several answers; add the package" if packages else "no answer of this run"
            raise DataError(f"{where}: {one.system!r:.80} on {one.id!r:.80} is {several}")
        key = (one.system, packages[0], one.id)
        if key in found:
            raise DataError(f"{where} labels {one.id!r:.80} of {one.system!r:.80} a second time")
        found[key] = one.correct
    if not found:
        raise DataError(f"{path} holds no labels; expected lines with id, system and correct")
    return found
