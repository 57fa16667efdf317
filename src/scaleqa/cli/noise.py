"""`scaleqa noise`: pools of background chat."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from scaleqa.errors import InvalidError
from scaleqa.noise import FORMATS, load_pool, shipped_pool
from scaleqa.noise.clashes import clashes
from scaleqa.pages.table import listing
from scaleqa.pages.terminal import print_tables
from scaleqa.records import shipped
from tsim.cli.shell import AsJson, failed, print_json, say

app = typer.Typer(no_args_is_help=True, help="Noise pools: formats, report, validate.")


@app.command()
def formats(as_json: AsJson = False) -> None:
    """List the corpus formats that can be read.

    Example: scaleqa noise formats
    """
    if as_json:
        print_json({name: form.about for name, form in sorted(FORMATS.items())})
        return
    rows = [{"format": name, "what": form.about} for name, form in sorted(FORMATS.items())]
    print_tables(listing(rows))


@app.command()
def report(
    path: Annotated[
        Path | None, typer.Argument(help="A corpus file; the built-in pool by default.")
    ] = None,
    form: Annotated[str, typer.Option("--format", help="Format of the file.")] = "authored",
    sha256: Annotated[str | None, typer.Option(help="Expected hash of the file.")] = None,
    strict: Annotated[bool, typer.Option(help="Stop at the first malformed item.")] = False,
    as_json: AsJson = False,
) -> None:
    """Read a pool and report what was kept, what was dropped and why.

    Example: scaleqa noise report wildchat.jsonl --format wildchat
    """
    pool = load_pool(path, form, sha256=sha256, strict=strict) if path else shipped_pool()
    facts = asdict(pool.report)
    if as_json:
        print_json(facts)
        return
    rows = []
    for name, value in facts.items():
        text = "; ".join(str(v) for v in value[:10]) if name == "malformed" else value
        if isinstance(value, dict):
            text = ", ".join(f"{key} {count}" for key, count in value.items())
        rows.append({"what": name, "value": str(text)})
    print_tables(listing(rows))


@app.command()
def validate(as_json: AsJson = False) -> None:
    """Check that no dialogue of the built-in pool mentions a name from a question.

    Example: scaleqa noise validate
    """
    found = clashes(shipped_pool().dialogues, shipped())
    if as_json:
        print_json(found)
    else:
        for name, dialogues in found.items():
            say(f"{name}: {', '.join(dialogues)}")
    if found:
        message = f"{len(found)} names from questions occur in the noise pool"
        raise failed(InvalidError(message), as_json=as_json)
    if not as_json:
        say("no dialogue mentions a name from a question")
