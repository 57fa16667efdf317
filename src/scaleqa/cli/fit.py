"""`scaleqa fit`: fit the weights of the default method."""

import json
from pathlib import Path
from typing import Annotated

import typer

from scaleqa.cli.arguments import EmbeddingModel, require_writable
from scaleqa.fit import fit as fit_weights
from tsim.cli.shell import AsJson, print_json, progress_bar, say
from tsim.embed import open_embedder
from tsim.environment import default_model
from tsim.presets import LATE, unfitted


def fit(
    out: Annotated[Path, typer.Option(help="File for the weights.")],
    split: Annotated[str, typer.Option(help="The split to fit on.")] = "s1",
    target: Annotated[str, typer.Option(help="Tokens per thread.")] = "128k",
    preset: Annotated[str, typer.Option(help="The preset to fit: late or light.")] = LATE.name,
    model: EmbeddingModel = None,
    as_json: AsJson = False,
) -> None:
    """Fit the weights of the default method on one split, on all tracks together.

    The result is deterministic, and takes some minutes. The weights that ship with the package were
    fitted on s1.

    Example: scaleqa fit --out weights.json
    """
    require_writable(out)
    unfitted(preset)
    name = model or default_model()
    embedder = open_embedder(model, cached=True)
    with progress_bar("fitting") as advance:
        content = fit_weights(
            embedder, model=name, preset=preset, split=split, target=target, progress=advance
        )
    out.write_bytes(content)
    if as_json:
        print_json(json.loads(content))
        return
    say(f"Wrote {out}")
