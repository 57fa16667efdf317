"""Pages for programs: values as they are, not as they are written."""

from typing import Any

from scaleqa.pages.page import Block, Notes, Page, Paragraph, flat


def to_json(page: Page) -> dict[str, Any]:
    """Returns a page's sentences and the rows of its tables."""
    blocks = [block for section in page.sections for block in flat(section.blocks)]
    return {
        "title": page.title,
        "about": _sentences(page.introduction),
        "tables": [
            {"title": table.title, "rows": [dict(row) for row in table.rows]}
            for table in page.tables
        ],
        "notes": _sentences(blocks),
    }


def _sentences(blocks: list[Block] | tuple[Block, ...]) -> list[str]:
    out: list[str] = []
    for block in blocks:
        if isinstance(block, Paragraph):
            out.append(block.text)
        elif isinstance(block, Notes):
            out += block.items
    return out
