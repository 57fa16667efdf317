"""The beginning of a text, for listings and representations."""

LINE = 100


def excerpt(text: str, most: int = LINE) -> str:
    """Returns a text on one line, shortened to `most` characters."""
    # Long texts are cut before they are split: a listing costs what it shows.
    line = " ".join(text[: 4 * most].split())
    whole = len(text) <= 4 * most and len(line) <= most
    return line if whole else line[: most - 1] + "…"
