"""Raw ratings without identities.

Raters get pseudonyms that are drawn anew at every export and kept nowhere. Lines are ordered by
item and pseudonym, so their order tells nothing; there are no times of day, no ids of forms, no
earlier ratings, and no free text unless it is asked for.
"""

import json
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scaleqa.audit.items import SCALES
from scaleqa.audit.judgements import Judgement
from scaleqa.errors import DataError
from tsim import unfinished

PSEUDONYM_BYTES = 4


def exported(judgements: Sequence[Judgement], *, comments: bool = False) -> list[dict[str, Any]]:
    """Returns a line for each judgement.

    Args:
        judgements: The last word of every rater on every item.
        comments: Whether to include what raters wrote.

    Raises:
        DataError: There is nothing to export.
    """
    if not judgements:
        raise DataError("nothing was rated yet, so there is nothing to export")
    names = _pseudonyms({one.rater for one in judgements})
    lines = [_line(one, names[one.rater], comments) for one in judgements]
    return sorted(lines, key=lambda line: (line["source"], line["item"], line["rater"]))


def write_export(lines: Sequence[dict[str, Any]], path: Path) -> None:
    """Writes lines to a new file.

    Raises:
        DataError: The file exists.
    """
    if path.exists():
        raise DataError(f"{path} exists; name another file")
    with unfinished.replacing(path) as part:
        for line in lines:
            part.file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")


def _pseudonyms(raters: set[int]) -> dict[int, str]:
    names: dict[int, str] = {}
    while len(names) < len(raters):
        rater = min(raters - {*names})
        name = secrets.token_hex(PSEUDONYM_BYTES)
        if name not in names.values():
            names[rater] = name
    return names


def _line(judgement: Judgement, rater: str, comments: bool) -> dict[str, Any]:
    item, values = judgement.item, judgement.values
    seconds = judgement.seconds
    return {
        "item": item.origin.ref,
        "source": item.origin.source,
        "domain": item.origin.domain,
        "split": item.origin.split,
        "shown": item.form,
        "purpose": item.purpose,
        "expected": item.known.answer if item.known else item.answer,
        "rater": rater,
        **{scale: values.scales.get(scale) for scale in SCALES},
        "answer": values.answer,
        "cues": [*values.cues],
        "primary": values.primary,
        "seconds": None if seconds is None else round(seconds),
        **({"comment": values.comment} if comments else {}),
    }
