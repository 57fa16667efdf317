"""`scaleqa cuts`: topic shifts against annotations."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from scaleqa.cli.arguments import EmbeddingModel, require_writable, typed_command
from scaleqa.datasets.tiage import DEV, TEST, Chat, load_chats
from scaleqa.evaluate.cuts import Embedded, compare_rules, embedded
from scaleqa.pages.markdown import write_markdown
from scaleqa.pages.terminal import print_tables
from scaleqa.report.cuts import cuts_page, cuts_table
from tsim.cli.shell import AsJson, print_json, progress_bar, say
from tsim.embed import Embedder, open_embedder


def cuts(
    directory: Annotated[Path, typer.Argument(help=f"Directory of TIAGE, with {DEV} and {TEST}.")],
    seed: Annotated[int, typer.Option(help="Seed for random cuts.")] = 0,
    table: Annotated[
        Path | None, typer.Option(help="Write the tables to this file, as Markdown.")
    ] = None,
    model: EmbeddingModel = None,
    as_json: AsJson = False,
) -> None:
    """Compare rules for finding topic shifts with the annotations of TIAGE.

    Example: scaleqa cuts data/tiage
    """
    require_writable(table)
    sets = {name: load_chats(directory / name) for name in (DEV, TEST)}
    embedder = open_embedder(model, cached=True)
    ready = {name: _embed(name, held.chats, embedder) for name, held in sets.items()}
    window, found = compare_rules(ready[DEV], ready[TEST], seed)
    if table:
        hashes = {name: held.sha256 for name, held in sets.items()}
        page = cuts_page(found, window, hashes, typed_command(), embedder.identity)
        write_markdown(page, table)
    if as_json:
        print_json({"window": window, "rules": [asdict(one) for one in found]})
        return
    print_tables(cuts_table(found))
    say(f"{len(sets[TEST].chats)} test chats, windows of {window} gaps; lower Pk is better")


def _embed(label: str, chats: tuple[Chat, ...], embedder: Embedder) -> list[Embedded]:
    out = []
    with progress_bar(f"embedding {label}") as advance:
        for chat in chats:
            out.append(embedded(chat, embedder.embed(chat.texts)))
            advance(len(out), len(chats))
    return out
