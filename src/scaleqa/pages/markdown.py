"""Pages as Markdown; drawings are files beside the page."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from scaleqa.pages.drawings import standalone
from scaleqa.pages.page import Block, Drawing, Facts, Notes, Page, Paragraph, Variant
from scaleqa.pages.table import Column, Row, Table


def to_markdown(page: Page, name: str) -> str:
    """Writes a page.

    Args:
        page: The page.
        name: Name of its file without the ending; its drawings are called after it.
    """
    files = iter(drawing_files(page, name))
    out = [f"# {page.title}", *_blocks(page.introduction, 2, files)]
    for section in page.sections:
        out += ["", f"## {section.title}"] if section.title else []
        out += _blocks(section.blocks, 3 if section.title else 2, files)
    return "\n".join(out) + "\n"


def write_markdown(page: Page, path: Path) -> None:
    """Writes a page to a file, and its drawings beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    texts = {path.name: to_markdown(page, path.stem), **drawing_files(page, path.stem)}
    for name, text in texts.items():
        (path.parent / name).write_text(text, encoding="utf-8", newline="\n")


def drawing_files(page: Page, name: str) -> dict[str, str]:
    """Writes each drawing as a file of its own: `NAME.svg`, `NAME-2.svg` and so on."""
    return {
        f"{name}{'' if number == 1 else f'-{number}'}.svg": standalone(drawing.svg)
        for number, drawing in enumerate(page.drawings, 1)
    }


def _blocks(blocks: Iterable[Block], level: int, files: Iterator[str]) -> Iterator[str]:
    for block in blocks:
        yield ""
        match block:
            case Paragraph():
                yield block.text
            case Notes():
                yield from (f"- {item}" for item in block.items)
            case Facts():
                yield from (f"- {name}: {value}" for name, value in block.items)
            case Drawing():
                yield f"![{block.title}]({next(files)})"
                yield from ("", block.caption) if block.caption else ()
            case Table():
                yield from (f"{'#' * level} {block.title}", "") if block.title else ()
                yield from _table(block)
            case Variant():
                yield f"{'#' * level} {block.title}"
                yield from _blocks(block.blocks, level + 1, files)


def _table(table: Table) -> Iterator[str]:
    sides = ["---" if column.is_text else "---:" for column in table.columns]
    yield _line([_head(column) for column in table.columns])
    yield f"|{'|'.join(sides)}|"
    for row, cells in zip(table.rows, table.cells(), strict=True):
        pairs = zip(table.columns, cells, strict=True)
        yield _line([_linked(column, row, cell) for column, cell in pairs])


def _head(column: Column) -> str:
    return f"{column.head}<sup>{column.signs}</sup>" if column.signs else column.head


def _linked(column: Column, row: Row, cell: str) -> str:
    address = row.get(column.link)
    return f"[{cell}]({address})" if address else cell


def _line(values: Sequence[str]) -> str:
    return f"| {' | '.join(_cell(value) for value in values)} |"


def _cell(value: str) -> str:
    return value.replace("|", "¦").replace("\n", " ")
