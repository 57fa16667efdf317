"""`tsim serve`: memories over HTTP."""

from typing import Annotated

import typer

from tsim.arguments import positive
from tsim.cli.extras import require_server
from tsim.cli.keys import shown_store
from tsim.cli.listening import (
    AllowHost,
    CountedBy,
    Host,
    Port,
    WithKeys,
    keys_needed,
)
from tsim.cli.options import PLACE, Database, Model, Place, PresetName
from tsim.cli.shell import AsJson, print_json, tell
from tsim.ports import address
from tsim.server.settings import Settings


def serve(
    at: Place = PLACE,
    store: Database = None,
    host: Host = "127.0.0.1",
    port: Port = 8765,
    allow_host: AllowHost = None,
    keys: WithKeys = False,
    model: Model = None,
    preset: PresetName = None,
    tokens: CountedBy = "estimate",
    workers: Annotated[
        int, typer.Option(help="Processes that answer: one for each core that they may use.")
    ] = 1,
    as_json: AsJson = False,
) -> None:
    """Serve memories over HTTP: REST, MCP and the inspector.

    Without keys, only this machine is served. As soon as there is a key (tsim keys create), every
    request needs one, also to a server that runs.

    Example: tsim serve

    Example: tsim serve --at /srv/memories --host 0.0.0.0 --allow-host memory.example.org

    Example: tsim serve --workers 4

    Example: tsim serve --store postgresql://tsim@db.example.org/memories
    """
    require_server()
    from tsim.server.app import open_app
    from tsim.server.processes.starting import run

    positive(workers=workers)
    with_keys = keys_needed(Settings(place=at, store=store), host, wanted=keys)
    settings = Settings(
        place=at,
        store=store,
        host=host,
        port=port,
        hosts=tuple(allow_host or ()),
        model=model,
        preset=preset,
        tokens=tokens,
        keys=with_keys,
    )
    place = shown_store(store) if store else str(at)
    new = " (new)" if not store and not at.exists() else ""

    def started(port: int) -> None:
        url = address(host, port)
        if as_json:
            print_json({"url": url, "place": place, "keys": with_keys, "workers": workers})
            return
        who = "keys needed" if with_keys else "no keys, this machine"
        tell(f"serving {place}{new} on {url} ({who})")
        tell(f"inspector {url}/inspector · API {url}/docs · MCP {url}/mcp · Ctrl-C stops")

    run(open_app, settings, processes=workers, started=started)
