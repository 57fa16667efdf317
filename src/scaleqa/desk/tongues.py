"""The languages that a browser asks for."""

import re

# One language of an Accept-Language header, and how much it is wanted: RFC 9110, 12.5.4.
RANGE = re.compile(
    r"\s*([a-z]{1,8})(?:-[a-z0-9]{1,8})*\s*(?:;\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*)?", re.ASCII
)


def wanted(header: str) -> tuple[str, ...]:
    """Returns the languages of an Accept-Language header without regions, best first.

    Args:
        header: Such as `de-AT, de;q=0.9, en;q=0.5`; what is no language there is passed over.
    """
    found: dict[str, float] = {}
    for one in map(RANGE.fullmatch, header.lower().split(",")):
        if one:
            found[one[1]] = max(found.get(one[1], 0.0), float(one[2] or 1))
    return tuple(sorted((name for name in found if found[name]), key=lambda name: -found[name]))
