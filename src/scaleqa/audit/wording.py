"""The texts of the pages, one file per language; all have the same keys."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources

from scaleqa.errors import DataError

DEFAULT = "en"


@cache
def languages() -> Mapping[str, Mapping[str, str]]:
    """Returns all texts by language; English comes first.

    Raises:
        DataError: A file lacks a text, or has one that the others do not have.
    """
    place = resources.files("scaleqa.audit") / "languages"
    found = {
        file.name.removesuffix(".toml"): tomllib.loads(file.read_text("utf-8"))
        for file in sorted(place.iterdir(), key=lambda one: one.name)
        if file.name.endswith(".toml")
    }
    wanted = {*found[DEFAULT]}
    for name, texts in found.items():
        differing = sorted(wanted ^ {*texts})
        if differing:
            raise DataError(f"the texts in {name!r} and {DEFAULT!r} differ in {differing[0]!r}")
    return {DEFAULT: found[DEFAULT], **found}
