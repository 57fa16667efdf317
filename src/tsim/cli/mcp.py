"""`tsim mcp`: a memory file as tools for an assistant, over stdin and stdout."""

import logging
import sys

from tsim.cli.extras import require_server
from tsim.cli.options import MEMORY, PRESET, MemoryPath, Model, PresetName
from tsim.memory import Memory


def mcp(
    memory: MemoryPath = MEMORY,
    model: Model = None,
    preset: PresetName = PRESET,
) -> None:
    """Serve a memory file to an assistant by MCP, over stdin and stdout.

    Assistants start this command themselves; see docs/mcp.md. It needs the extra `server`, but no
    server and no network.

    Example: tsim mcp --memory memory.db
    """
    require_server()
    import anyio

    from tsim.server.mcp import build, single

    # Whatever is not a message of the protocol belongs on stderr.
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="tsim mcp: %(message)s")
    with Memory.open(memory, model=model, preset=preset) as opened:
        anyio.run(build(single(opened)).run_stdio_async)
