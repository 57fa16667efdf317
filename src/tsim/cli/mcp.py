"""`tsim mcp`: a memory file as tools for an assistant, over stdin and stdout."""

import logging
import signal
import sys
from typing import Annotated

import typer

from tsim.cli.extras import require_server
from tsim.cli.options import MEMORY, PRESET, MemoryPath, Model, PresetName
from tsim.embed import open_embedder
from tsim.memory import Memory
from tsim.store import exists


def mcp(
    memory: MemoryPath = MEMORY,
    model: Model = None,
    preset: PresetName = PRESET,
    as_json: Annotated[
        bool, typer.Option("--json", help="If it cannot start, say why as JSON.")
    ] = False,
) -> None:
    """Serve a memory file to an assistant by MCP, over stdin and stdout.

    Assistants start this command themselves; docs/mcp.md says how to tell them. It opens no port.

    Example: tsim mcp --memory memory.db
    """
    require_server()
    # Whatever is not a message of the protocol belongs on stderr.
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="tsim mcp: %(message)s")
    # Before a file is made. Otherwise the file may name the model.
    embedder = None if exists(memory) else open_embedder(model)
    if embedder is not None:
        embedder.embed_query("ready")
    with Memory.open(memory, model=embedder or model, preset=preset) as opened:
        # Whoever starts it reads stderr; later, only an assistant would see what is missing.
        opened.load_model()
        _serve(opened)


def _serve(memory: Memory) -> None:
    import anyio

    from tsim.server.mcp import build, single

    # A thread that waits for a line of stdin would outlast an interrupt. Turns are durable.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    anyio.run(build(single(memory)).run_stdio_async)
